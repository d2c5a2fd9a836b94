"""Large bodies beside small tasks: a pool whose workers hold 8 MiB each, and another pool of the same supervisor with
calls that must not wait for them. The same with a plain consumer and a plain RPC server, in two processes, shows what
the broker contributes."""

import json
import time

from . import Failure
from .contestants import NOOP, PREFETCH, RPC_WORKER, SMALL, plain_rpc
from .process import anonymous_kib, turn_facts

LARGE, SMALL_POOL = "bench.large", "bench.calls"
SIZE = 8 << 20
HOLD_MS = 200
CALLS_A_SECOND = 200
STUCK_SECONDS = 60
# More settings of the pool of large tasks, such as one that bounds memory.
SETTINGS = ""

CONFIGURATION = """\
pools:
  - {{name: large, queue: {large}, command: [{noop}, hold, '{hold}'], workers: {workers}{settings}}}
  - {{name: small, queue: {small}, command: [{noop}, {reply}], workers: 4}}
"""


class Large:
    kind = "large"

    def __init__(self, name, label, messages, commands):
        """commands: given the bench, the command of each server; the first one has the large tasks."""
        self.name, self.label, self.messages, self._commands = name, label, messages, commands

    def missing(self):
        return ""

    @staticmethod
    def _start_calls(bench):
        return bench.start("caller", ["BUILD/bench/caller", "--rate", CALLS_A_SECOND, "URL", SMALL_POOL, SMALL, 3600])

    @staticmethod
    def _end_calls(caller):
        if caller.stop() != 0:
            raise Failure(f"the small calls failed: {caller.stderr_tail()}")
        return json.loads(caller.stdout())

    def _follow(self, bench, processes):
        """Wait until no large message is left. Return (seconds, peak memory of the first process)."""
        begun = moved = time.monotonic()
        peak, lowest = 0, self.messages
        for _, left in bench.probe.samples():
            for process in processes:
                process.check()
            peak = max(peak, anonymous_kib(processes[0].pid))
            if left == 0:
                return time.monotonic() - begun, peak
            if 0 < left < lowest:
                lowest, moved = left, time.monotonic()
            if time.monotonic() - moved > STUCK_SECONDS:
                raise Failure(f"{left} of {self.messages} large messages left, and none settled for {STUCK_SECONDS} s")

    def _measure(self, bench, servers):
        caller = self._start_calls(bench)
        try:
            bench.probe.watch(LARGE)
            seconds, peak = self._follow(bench, [*servers, caller])
            during = self._end_calls(caller)
            caller = self._start_calls(bench)
            time.sleep(bench.seconds)  # the calls alone
            alone = self._end_calls(caller)
            return {"messages": self.messages, "seconds": seconds, "mib_a_second": self.messages * (SIZE >> 20) / seconds,
                    "supervisor_kib": peak, "during": during, "alone": alone}
        finally:
            caller.kill()

    def run(self, bench):
        bench.fill(LARGE, self.messages, SIZE)
        bench.fill(SMALL_POOL, 0, SMALL)
        servers = []
        try:
            for command in self._commands(bench):
                servers.append(bench.start(self.name, command))
            figures = self._measure(bench, servers)
            for server in servers:
                server.stop()
            return figures | turn_facts(servers[0])
        finally:
            for server in servers:
                server.kill()
            bench.delete(LARGE)
            bench.delete(SMALL_POOL)


def both(workers):
    def one_supervisor(bench):
        path = bench.folder / "large.yaml"
        path.write_text(CONFIGURATION.format(
            large=LARGE, small=SMALL_POOL, noop=bench.argv(NOOP)[0], reply=RPC_WORKER[-1], hold=HOLD_MS,
            workers=workers, settings=SETTINGS))
        yield "BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text", "--config", path

    def two_plain(_):
        yield "BUILD/bench/plain_consumer", "URL", LARGE, PREFETCH, 1
        yield plain_rpc(SMALL_POOL)

    size = f"{SIZE >> 20} MiB"
    yield Large("large", f"wpool, {workers} workers × {size} and 4 for calls", 2 * workers, one_supervisor)
    yield Large("large-plain", f"plain C consumer, {size}, and plain C RPC server", 2 * workers, two_plain)
