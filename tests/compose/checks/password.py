"""The broker's password: changed in one place, refused if Compose may misread it, hidden from the workers."""
import json
import select
import subprocess
import time

from engine import Failure, docker
from project import here
from traffic import SECONDS

NEW_PASSWORD = "n3w!%&()*+,-./:;<=>?@[]^_{|}~"
SECRET_PASSWORD = "hidden-7f1c94e2d0"
REFUSED = ('a"b', "a'b", "a b", "a\\b", "a$b", "a#b", "ab\u00e9", "a`b", "a\nb", "")
REFUSALS = 12  # wpool, its guard, and commands that have the password while the worker looks


def password(project):
    """A new password needs one file and `up`, also for a broker that has data."""
    before = project.traffic.password
    seen = project.traffic.between_loads("password", lambda: project.change_password(NEW_PASSWORD))
    if project.traffic.api("GET", "/whoami", password=before):
        raise Failure("the old password still works")
    return seen


def wrong_password(project):
    """The broker refuses a password that Compose may misread, says so, and takes a better one."""
    before = project.traffic.password
    for wrong in REFUSED:
        started = subprocess.run(
            ["docker", "run", "--rm", "--entrypoint", "bash", "--env", f"RABBITMQ_PASSWORD={wrong}",
             "--volume", f"{project.compose.folder}/env/rabbitmq:/etc/rabbitmq/wpool:ro",
             project.file["services"]["rabbitmq"]["image"], "/etc/rabbitmq/wpool/start"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if started.returncode != 78 or not is_clear(started.stdout):
            raise Failure(f"the password {wrong!r}: exit status {started.returncode}, {started.stdout[-500:]}")
    project.write_password("a#b")
    project.compose("up", "--detach", "--no-deps", "rabbitmq")
    container = project.compose.container("rabbitmq")
    project.await_status(container, "Restarting (78)")
    if not is_clear(docker("logs", container, with_stderr=True)):
        raise Failure("the broker's log does not show what to do")
    docker("stop", container)
    project.change_password(before)
    return f"{len(REFUSED)} refused, docker ps: Restarting (78)"


def is_clear(output):
    """Whether it has the place of the error and the remedy."""
    return "env/secrets/broker.env: RABBITMQ_PASSWORD" in output and "docker-compose up -d" in output


def spy(container):
    """Start a process like a worker's: the same user, without the password in its environment. It has begun to look."""
    process = subprocess.Popen(
        ["docker", "exec", "--interactive", "--env", "RABBITMQ_PASSWORD=", container, "python3", "-",
         SECRET_PASSWORD, str(REFUSALS)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)  # so that select sees each line
    process.stdin.write(here("spy.py").read_bytes())
    process.stdin.close()
    if not process.stdout.readline():
        raise Failure("the spy does not start")
    return process


def spy_while(container, act):
    """Return what the spy sees while this acts. A file in /tmp, which both share, ends it."""
    process = spy(container)
    try:
        act(process)
    finally:
        docker("exec", "--env", "RABBITMQ_PASSWORD=", container, "touch", "/tmp/spy-ends")
        output = process.stdout.read()
    if process.wait() != 0:
        raise Failure(f"the spy ended with {process.returncode}")
    return json.loads(output.splitlines()[-1])


def echo(process):
    process.stdin.write("here\n")
    process.stdin.flush()
    process.stdout.readline()


def secret_hidden(project):
    """A process of the workers' user finds the password in no process of the container, also not in a healthcheck."""
    if project.traffic.password != SECRET_PASSWORD:
        project.change_password(SECRET_PASSWORD)
    container = project.compose.container("supervisor")
    # A shell has the container's environment and can be read: so the spy can find what is there.
    with subprocess.Popen(["docker", "exec", "--interactive", container, "cat"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as readable:
        control = spy_while(container, lambda _: echo(readable))
        readable.stdin.close()
    if "cat" not in control["found"]:
        raise Failure(f"the spy does not see what can be seen: {control}")

    def probe(process):
        end = time.monotonic() + SECONDS
        while not select.select([process.stdout], [], [], 0)[0]:
            docker("exec", container, "wpool", "status")
            if time.monotonic() > end:
                raise Failure(f"not within {SECONDS} s: {REFUSALS} processes refuse the spy")
    seen = spy_while(container, probe)
    if seen["found"]:
        raise Failure(f"the password is in {seen['found']}")
    if not {"wpool", "wpool-guard"} <= set(seen["names"]):
        raise Failure(f"the spy did not see the supervisor: {seen}")
    return f"looked {seen['looks']} times at {seen['processes']} processes, {seen['refused']} refused it, found nothing"


CHECKS = (password, wrong_password, secret_hidden)
