"""A pool with a preloaded process: the time from the kill of a worker until another one is ready in its place."""

import datetime
import json
import os
import signal
import statistics
import time

from .contestants import all_ready
from .node import ROOT, wait_until

QUEUE = "bench.preload"
WORKER = ("/usr/bin/python3", str(ROOT / "tests/workers/preloaded.py"))
WORKERS, MIB = 4, 100
KILLS, REPLACE_SECONDS, START_SECONDS = 5, 60, 60
LONG_LIFE_SECONDS = 11  # a worker that dies earlier is replaced later, as one that may fail again


def _time_of(line):
    return datetime.datetime.fromisoformat(line["ts"].replace("Z", "+00:00")).timestamp()


def _readies(server):
    """The lines of a supervisor's log, in JSON at the level debug, that say that a worker is ready."""
    lines = (json.loads(line) for line in server.stderr().splitlines(keepends=True) if line.endswith("\n"))
    return [line for line in lines if line["msg"] == "worker ready"]


def _replace_one_ms(server, worker):
    """worker: the line that says that it is ready."""
    def successors():
        return [line for line in _readies(server) if line["slot"] == worker["slot"] and line["pid"] != worker["pid"]]
    begun = time.time()
    os.kill(worker["pid"], signal.SIGKILL)
    wait_until(successors, REPLACE_SECONDS, f"another worker is in the place of {worker['pid']}")
    return (_time_of(successors()[0]) - begun) * 1000


def replace_ms(server):
    """Kill some workers, one after the other. The median of the times until another one is ready in its place."""
    time.sleep(LONG_LIFE_SECONDS)
    return statistics.median(_replace_one_ms(server, line) for line in _readies(server)[:KILLS])


class Replacement:
    kind = "preload"
    name = "preload-replaced"
    label = f"a killed worker of a preloaded pool, {MIB} MiB in Python"

    def missing(self):
        return ""

    def run(self, bench):
        environment = (("WORKER_PRELOAD", " ".join(WORKER)), ("WPOOL_DECLARE", "on"), ("PRELOADED_MIB", str(MIB)),
                       ("WPOOL_LOG_LEVEL", "debug"))
        server = bench.start(self.name, ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "json", "--queue", QUEUE,
                                         "--workers", WORKERS), environment)
        try:
            server.await_stderr(all_ready(WORKERS), START_SECONDS)
            figures = {"replace_ms": replace_ms(server)}
            server.stop()
            return figures
        finally:
            server.kill()
            bench.delete(QUEUE)
