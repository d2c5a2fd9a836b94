"""65,000 sessions in hand, which are listed and controlled meanwhile: the longest turn of the loop."""

import time

from . import Failure
from .contestants import NOOP, SMALL, all_ready, session_environment
from .process import turn_facts

QUEUE = "bench.sessions"
KEYS, WINDOW = 65_000, 65_535
WORKERS, HOLD_MS = 4, 1
ORDERS = (("sessions", QUEUE, "--json"), ("session", "pause", QUEUE, "--where", "backlog>=0"),
          ("sessions", QUEUE, "--where", "state=paused", "--count"), ("session", "resume", QUEUE, "--where", "backlog>=0"))
START_SECONDS, ORDER_SECONDS = 60, 60


class ManySessions:
    kind = "sessions"
    name = "many-sessions"
    label = f"{KEYS:,} sessions, listed and controlled"

    def missing(self):
        return ""

    def _await_window(self, bench, server, environment):
        deadline = time.monotonic() + START_SECONDS
        while int(self._order(bench, environment, "sessions", QUEUE, "--count") or 0) < KEYS * 9 // 10:
            server.check()
            if time.monotonic() > deadline:
                raise Failure(f"there are not {KEYS} sessions after {START_SECONDS} s")

    @staticmethod
    def _order(bench, environment, *words):
        process = bench.start("order", ("BUILD/wpool", *words), environment)
        if process.wait(ORDER_SECONDS) != 0:
            raise Failure(f"wpool {' '.join(words)}: {process.stderr_tail()}")
        return process.stdout()

    def run(self, bench):
        environment = (*session_environment(takeover_delay="none"), ("PREFETCH", str(WINDOW)),
                       ("WPOOL_CONTROL_SOCKET", str(bench.folder / "sessions.sock")))
        bench.fill(QUEUE, 2 * KEYS, SMALL, ("--single", "--keys", KEYS))
        command = ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text", "--queue", QUEUE, "--workers",
                   WORKERS, "--", *NOOP, "hold", HOLD_MS)
        server = bench.start(self.name, command, environment)
        try:
            server.await_stderr(all_ready(WORKERS), START_SECONDS)
            self._await_window(bench, server, environment)
            begun = time.monotonic()
            for words in ORDERS:
                self._order(bench, environment, *words)
            seconds = time.monotonic() - begun
            # A broker needs minutes for single acks in so wide a window, and an orderly stop waits for them.
            server.stop_at_once()
            return {"orders_seconds": seconds} | turn_facts(server)
        finally:
            server.kill()
            bench.delete(QUEUE)
