"""The image, and how the project starts."""
import re
import subprocess
import time

from engine import Failure, await_for, docker, inspect
from traffic import SECONDS


def image(project):
    """Our images are built from the tree."""
    started = time.monotonic()
    project.images.build_ours(project.compose)
    return f"built in {time.monotonic() - started:.0f} s"


def first_reply(project):
    """The publisher gets a reply after `up`, with the images there. How soon is printed, and not judged."""
    started = time.monotonic()
    project.up()
    log = subprocess.Popen(["docker", "logs", "--follow", project.compose.container("publisher")], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    try:
        await_for("a reply for the publisher", lambda: re.search("-> (?!no reply)", log.stdout.readline()), SECONDS)
        seconds = time.monotonic() - started
    finally:
        log.kill()
        log.wait()
        log.stdout.close()
    project.traffic.begin()
    return f"{seconds:.1f} s after up"


def logs(project):
    """Each log is bounded, the broker has no other one, and it does not report each connection."""
    broker = project.compose.container("rabbitmq")
    if files := docker("exec", broker, "find", "/var/log/rabbitmq", "/tmp", "-name", "*.log", "-size", "+0"):
        raise Failure(f"the broker writes to {files}")
    for service in project.running():
        options = inspect(project.compose.container(service), "{{json .HostConfig.LogConfig}}")
        if "max-size" not in options or "max-file" not in options:
            raise Failure(f"the log of {service} is not bounded: {options}")
    if noise := [line for line in docker("logs", broker).splitlines() if "accepting AMQP connection" in line]:
        raise Failure(f"the broker's log: {noise[0]}")
    return "each container's log is bounded, no other log file"


def worker_count(project):
    """WORKER_COUNT gives each pool so many workers."""
    project.compose.environment["WORKER_COUNT"] = "8"
    project.up()
    pools = project.await_all_ready(8)
    del project.compose.environment["WORKER_COUNT"]
    project.up()
    return f"8 workers in each of {pools} pools"


def wrong_value(project):
    """`docker ps` shows that a value is wrong, and the log which one."""
    project.compose.environment["WORKER_COUNT"] = "abc"
    try:
        project.up()
        container = project.compose.container("supervisor")
        project.await_status(container, "Restarting (78)")
        log = docker("logs", container, with_stderr=True)
        line = next((line for line in log.splitlines() if "abc" in line), None)
        if not line:
            raise Failure(f"the log does not show abc: {log[-500:]}")
    finally:
        del project.compose.environment["WORKER_COUNT"]
        project.up()
    project.await_status(project.compose.container("supervisor"), "(healthy)")
    return f"docker ps: Restarting (78); log: {line}"


CHECKS = (image, first_reply, logs, worker_count, wrong_value)
