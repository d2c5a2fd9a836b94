"""What a container may do: not root, no capability, no writing; and that its health is seen."""
import pathlib
import re
import subprocess

from engine import Failure, await_for, docker
from traffic import SECONDS

OTHER_USER = 1234
IMAGE = "wpool:python"  # it has a configuration


def of_process(pid, name):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return re.search(rf"^{name}:\s+(.*)$", text, re.MULTILINE)[1].split()


def confined(project):
    """PID 1 of each container is not root, has no capability and gains none. The root file system is read-only."""
    running = project.running()
    for service in running:
        container = project.compose.container(service)
        pid = project.pid(container)
        uids, flags = of_process(pid, "Uid"), of_process(pid, "NoNewPrivs")
        sets = [of_process(pid, name)[0] for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")]
        if "0" in uids or flags != ["1"] or any(int(each, 16) for each in sets):
            raise Failure(f"{service}: uids {uids}, NoNewPrivs {flags}, capabilities {sets}")
        mounts = pathlib.Path(f"/proc/{pid}/mounts").read_text().splitlines()
        root = next(line.split() for line in mounts if line.split()[1] == "/")
        if "ro" not in root[3].split(","):
            raise Failure(f"{service}: / is writable")
    return ", ".join(running)


def health(project):
    """`docker ps` shows that the supervisor cannot work, and that it can again."""
    supervisor = project.compose.container("supervisor")
    project.await_status(supervisor, "(healthy)")
    project.compose("stop", "rabbitmq")
    project.await_status(supervisor, "(unhealthy)")
    project.up()
    project.await_status(supervisor, "(healthy)")
    return "without a broker docker ps shows (unhealthy), with it (healthy)"


def any_user(project):
    """The control socket works as the user that one chooses, also with a read-only root file system."""
    for options in ([], ["--read-only", "--tmpfs", "/tmp"]):
        container = docker("run", "--detach", "--user", OTHER_USER, "--cap-drop", "ALL", "--network", "none", *options, IMAGE,
                           "serve", "--config", "/etc/wpool/wpool.yaml")
        try:
            await_for(f"wpool status as user {OTHER_USER}", lambda: "NOT READY" in subprocess.run(
                ["docker", "exec", container, "wpool", "status"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True).stdout, SECONDS)
        finally:
            docker("rm", "--force", "--volumes", container)
    return f"wpool status as user {OTHER_USER}"


def no_zombies(project):
    """The supervisor as PID 1 reaps what others leave to it."""
    container = project.compose.container("supervisor")
    docker("exec", container, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sh -c 'exit 0 & exec true' & done")
    script = "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ' || true"
    await_for("no zombie is left", lambda: docker("exec", container, "sh", "-c", script) == "0", SECONDS)
    return "none left"


CHECKS = (confined, health, any_user, no_zombies)
