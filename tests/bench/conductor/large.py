"""Large bodies beside small tasks: a pool whose workers hold 8 MiB each, and in another pool of the same supervisor
calls that must not wait for them; and what all this takes of memory."""

import json
import time

from . import Failure
from .contestants import NOOP, RPC_WORKER, SMALL
from .process import anonymous_kib, turn_facts

LARGE, SMALL_POOL = "bench.large", "bench.calls"
SIZE = 8 << 20
HOLD_MS = 200
CALLS_A_SECOND = 200
STUCK_SECONDS = 60
# More settings of the pool of large tasks: the one that bounds memory.
SETTINGS = ""

CONFIGURATION = """\
pools:
  - {{name: large, queue: {large}, command: [{noop}, hold, '{hold}'], workers: {workers}{settings}}}
  - {{name: small, queue: {small}, command: [{noop}, {reply}], workers: 4}}
"""


class Large:
    kind = "large"
    name = "large"

    def __init__(self, workers):
        self.workers, self.messages = workers, 2 * workers
        self.label = f"{workers} workers × {SIZE >> 20} MiB beside {CALLS_A_SECOND} small calls a second"

    def missing(self):
        return ""

    def _serve(self, bench):
        path = bench.folder / "large.yaml"
        path.write_text(CONFIGURATION.format(
            large=LARGE, small=SMALL_POOL, noop=bench.argv(NOOP)[0], reply=RPC_WORKER[-1], hold=HOLD_MS,
            workers=self.workers, settings=SETTINGS))
        return bench.start("large", ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text", "--config", path))

    @staticmethod
    def _start_calls(bench):
        return bench.start("caller", ["BUILD/bench/caller", "--rate", CALLS_A_SECOND, "URL", SMALL_POOL, SMALL, 3600])

    @staticmethod
    def _end_calls(caller):
        if caller.stop() != 0:
            raise Failure(f"the small calls failed: {caller.ending()}")
        return json.loads(caller.printed())

    def _follow(self, bench, server, caller):
        """Until no large message is left: (seconds, the supervisor's peak)."""
        begun = moved = time.monotonic()
        peak, lowest = 0, self.messages
        for _, left in bench.referee.samples():
            server.check()
            caller.check()
            peak = max(peak, anonymous_kib(server.pid))
            if left == 0:
                return time.monotonic() - begun, peak
            if 0 < left < lowest:
                lowest, moved = left, time.monotonic()
            if time.monotonic() - moved > STUCK_SECONDS:
                raise Failure(f"{left} of {self.messages} large messages left, and none settled for {STUCK_SECONDS} s")

    def _measure(self, bench, server):
        caller = self._start_calls(bench)
        try:
            bench.referee.watch(LARGE)
            seconds, peak = self._follow(bench, server, caller)
            during = self._end_calls(caller)
            caller = self._start_calls(bench)
            time.sleep(bench.seconds)  # how long the calls have the supervisor to themselves
            alone = self._end_calls(caller)
            return {"messages": self.messages, "seconds": seconds, "mib_a_second": self.messages * (SIZE >> 20) / seconds,
                    "supervisor_kib": peak, "during": during, "alone": alone}
        finally:
            caller.kill()

    def run(self, bench):
        bench.fill(LARGE, self.messages, SIZE)
        bench.fill(SMALL_POOL, 0, SMALL)
        server = self._serve(bench)
        try:
            figures = self._measure(bench, server)
            server.stop()
            return figures | turn_facts(server)
        finally:
            server.kill()
            bench.delete(LARGE)
            bench.delete(SMALL_POOL)
