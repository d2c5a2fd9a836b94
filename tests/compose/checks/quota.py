"""With few processors."""
import re
import time

from engine import Failure, await_for, docker
from traffic import SECONDS

CPUS, PYTHON_WORKERS = 0.1, 12  # in three pools of the samples
IMAGE = "wpool:python"


def cpu_quota(_):
    """With a tenth of a processor all Python workers start, and none is ended because it is slow."""
    started = time.monotonic()
    container = docker("run", "--detach", "--network", "none", "--cpus", CPUS, "--env", "WORKER_COUNT=4",
                       "--env", "WPOOL_LOG_FORMAT=text", IMAGE, "serve", "--config", "/etc/wpool/wpool.yaml")
    try:
        def all_ready():
            return len(re.findall(r"-python +4 workers ready", docker("logs", container, with_stderr=True))) == 3
        await_for(f"{PYTHON_WORKERS} Python workers are ready", all_ready, SECONDS)
        log = docker("logs", container, with_stderr=True)
        if "boot limit" in log:
            raise Failure(next(line for line in log.splitlines() if "boot limit" in line))
    finally:
        docker("rm", "--force", "--volumes", container)
    return f"{PYTHON_WORKERS} Python workers ready after {time.monotonic() - started:.0f} s with --cpus {CPUS}"


CHECKS = (cpu_quota,)
