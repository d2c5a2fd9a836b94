"""Tasks of Celery with a countdown, by the adapter: how late they begin."""

import re

from . import Failure
from .contestants import HERE, PYTHON, QUEUE, adapter
from .node import wait_until

TASKS, FEW = 200, 20
START_SECONDS, SECONDS = 60, 60


class Countdown:
    kind = "countdown"
    name = "celery-countdown"
    label = "a task of Celery with a countdown of 1 to 2 s, 4 workers"

    def __init__(self):
        self._contestant = adapter(self.name, "command", "", (("CELERY_ACKS", "early"),), needs="/usr/bin/celery", package="celery")
        self.missing = self._contestant.missing

    def _late_seconds(self, bench, server):
        c, count = self._contestant, FEW if bench.extent.messages else TASKS
        caller = bench.start(f"{c.name}-caller", (PYTHON, HERE / "celery_app.py", count), c.environment)
        if caller.wait(SECONDS) != 0:
            raise Failure(f"the tasks could not be called: {caller.stderr_tail()}")
        wait_until(lambda: server.stderr().count("late: ") >= count, SECONDS, "all tasks have begun")
        return sorted(map(float, re.findall(r"late: (-?[\d.]+)", server.stderr())))

    def run(self, bench):
        c = self._contestant
        bench.fill(QUEUE, 0, c.size, ("--classic",))
        server = bench.start(c.name, c.command_in(bench), c.environment)
        try:
            server.await_stderr(c.ready, START_SECONDS)
            late = self._late_seconds(bench, server)
            server.stop()
            return {"late_ms": {"50": late[len(late) // 2] * 1000, "100": late[-1] * 1000}}
        finally:
            server.kill()
            bench.delete(QUEUE)
