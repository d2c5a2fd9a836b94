"""A pool without messages: the time until all workers are ready, and the memory and CPU time of the supervisor."""

import time

from .contestants import NOOP, SMALL, all_ready, serve
from .process import Account, anonymous_kib, turn_facts

QUEUE = "bench.idle"


class IdlePool:
    kind = "idle"

    def __init__(self, workers):
        self.workers = workers
        self.name = f"start-{workers}"
        self.label = f"idle pool of {workers:,} C workers"

    def missing(self):
        return ""

    def run(self, bench):
        bench.fill(QUEUE, 0, SMALL)
        begun = time.monotonic()
        server = bench.start_ready(self.name, serve(QUEUE, self.workers, "auto", NOOP), all_ready(self.workers))
        try:
            up = time.monotonic()
            account = Account(server, bench.node.pid)
            workers = server.workers()
            figures = {
                "start_seconds": up - begun,
                "start_cpu_ms": {"supervisor": account.supervisor / 1e6, "workers": account.workers / 1e6},
                "supervisor_kib": anonymous_kib(server.pid),
                "a_worker_kib": sum(map(anonymous_kib, workers)) / len(workers),
            }
            begun = time.monotonic()
            server.stop()
            return figures | {"stop_seconds": time.monotonic() - begun} | turn_facts(server)
        finally:
            server.kill()
            bench.delete(QUEUE)
