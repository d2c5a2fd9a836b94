"""The time of a call: one at a time, 500 at a time, and at half the rate that the slower server can answer."""

import json

from . import Failure
from .contestants import RPC_WORKER, SMALL, all_ready, plain_rpc, serve
from .process import turn_facts

QUEUE = "bench.calls"
OPEN_CALLS = 500  # at full load
WORKERS = 4
WARM_UP_SECONDS = 0.3
SPARE_SECONDS = 90


class Load:
    """Half load is the same for all servers. It is known after the first round, which does not count."""

    def __init__(self):
        self._rates = {}

    def record(self, name, rate):
        self._rates.setdefault(name, rate)

    @property
    def half(self):
        return max(1, int(min(self._rates.values()) / 2))


def call(bench, seconds, *options):
    caller = bench.start("caller", ["BUILD/bench/caller", *options, "URL", QUEUE, SMALL, seconds])
    try:
        if caller.wait(seconds + SPARE_SECONDS) != 0:
            raise Failure(f"a caller failed: {caller.stderr_tail()}")
        return json.loads(caller.stdout())
    finally:
        caller.kill()


class Latency:
    kind = "latency"

    def __init__(self, name, label, command, ready, load):
        self.name, self.label = name, label
        self._command, self._ready, self._load = command, ready, load
        self._is_warm = False

    def missing(self):
        return ""

    def _call_all(self, bench):
        call(bench, WARM_UP_SECONDS)
        figures = {"idle": call(bench, bench.seconds), "full": call(bench, bench.seconds, "--window", OPEN_CALLS)}
        self._load.record(self.name, figures["full"]["rate"])
        if self._is_warm or not bench.extent.warm_rounds:
            figures["half"] = call(bench, bench.seconds, "--rate", self._load.half)
        self._is_warm = True
        return figures

    def run(self, bench):
        bench.fill(QUEUE, 0, SMALL)
        server = bench.start_ready(self.name, self._command, self._ready)
        try:
            figures = self._call_all(bench)
            server.stop()
            return figures | turn_facts(server)
        finally:
            server.kill()
            bench.delete(QUEUE)


def both():
    load = Load()
    # The plain server prints nothing when it is ready; the first call waits for it.
    yield Latency("latency-plain", "plain C RPC server", plain_rpc(QUEUE), "", load)
    yield Latency("latency-wpool", f"wpool, auto, {WORKERS} C workers", serve(QUEUE, WORKERS, "auto", RPC_WORKER),
                  all_ready(WORKERS), load)
