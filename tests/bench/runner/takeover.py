"""Two supervisors of one queue: the time in which no task is settled when the active one drains or is killed."""

import os
import signal

from . import Failure
from .contestants import NOOP, SMALL, all_ready, session_environment
from .process import turn_facts

QUEUE = "bench.takeover"
WORKERS, HOLD_MS, KEYS = 4, 1, 1000
DELAY_SECONDS = 10
MESSAGES = 60_000  # more than are done meanwhile
WARM_UP = 2000  # are done before the signal
AFTER_SECONDS, STUCK_SECONDS = 3, 30
WORKER = (*NOOP, "hold", HOLD_MS)
COMMAND = ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text", "--queue", QUEUE, "--workers", WORKERS,
           "--", *WORKER)


class Takeover:
    kind = "takeover"

    def __init__(self, name, label, number, least_seconds):
        """number: the signal that the active supervisor gets; least_seconds: how long the other one waits on purpose."""
        self.name, self.label, self._signal, self._least = name, label, number, least_seconds

    def missing(self):
        return ""

    def _start(self, bench, which):
        environment = session_environment(takeover_delay=f"{DELAY_SECONDS}s")
        server = bench.start(f"{self.name}-{which}", COMMAND, environment)
        server.await_stderr(all_ready(WORKERS), 60)
        return server

    def _gap(self, bench, active):
        """The longest time without a settled message after the signal, in seconds."""
        bench.probe.watch(QUEUE)
        lowest, moved, longest, sent_at = MESSAGES, 0, 0, None
        for micros, left in bench.probe.samples():
            if left < 0:
                continue
            if left == 0 or micros - moved > STUCK_SECONDS * 1e6 and sent_at:
                raise Failure(f"{left} messages are left, and nobody has taken over")
            if left < lowest:
                longest = max(longest, micros - moved) if sent_at else 0
                lowest, moved = left, micros
            if sent_at is None and left < MESSAGES - WARM_UP:
                os.kill(active.pid, self._signal)
                sent_at = micros
            elif sent_at and micros - sent_at > (self._least + AFTER_SECONDS) * 1e6:
                return longest / 1e6
        raise Failure("the broker's probe has ended")

    def run(self, bench):
        bench.fill(QUEUE, MESSAGES, SMALL, ("--single", "--keys", KEYS))
        servers = []
        try:
            servers.append(self._start(bench, "active"))
            servers.append(self._start(bench, "standby"))
            gap = self._gap(bench, servers[0])
            servers[1].stop()
            return {"gap_seconds": gap} | turn_facts(servers[1])
        finally:
            for server in servers:
                server.kill()
            bench.delete(QUEUE)


def both():
    yield Takeover("takeover-drained", "the active supervisor drains", signal.SIGTERM, 0)
    yield Takeover("takeover-killed", f"the active supervisor is killed, takeover_delay {DELAY_SECONDS} s",
                   signal.SIGKILL, DELAY_SECONDS)
