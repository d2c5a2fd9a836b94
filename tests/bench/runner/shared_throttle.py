"""Three supervisors that share a throttle, under a backlog: how much of the limit is used, and what the asking costs."""

import http.client
import json
import socket
import time

from . import Failure
from .contestants import NOOP, SMALL, all_ready
from .process import turn_facts

QUEUE = "bench.shared"
A_SECOND = 1000
SUPERVISORS, WORKERS = 3, 4
START_SECONDS, POLL_SECONDS = 60, 0.02


class Connection(http.client.HTTPConnection):
    """To a control socket."""

    def __init__(self, path):
        super().__init__("localhost")
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


class SharedThrottle:
    kind = "shared"

    def __init__(self, period, periods):
        """period: in seconds; periods: how many are measured."""
        self.name = f"throttle-shared-{period}"
        self.label = f"{SUPERVISORS} supervisors, {A_SECOND * period:,} starts in {period} s together"
        self._period, self._periods, self._limit = period, periods, A_SECOND * period

    def missing(self):
        return ""

    def _start(self, bench, number):
        socket_path = bench.folder / f"{self.name}-{number}.sock"
        file = bench.folder / f"{self.name}-{number}.yaml"
        file.write_text(f"control: {{socket: {socket_path}}}\n"
                        f"throttles: [{{name: {self.name}, limit: {self._limit}, period: {self._period}s, "
                        "scope: cluster}]\n"
                        f"pools: [{{queue: {QUEUE}, command: [{bench.argv((NOOP[0],))[0]}], workers: {WORKERS}, "
                        f"throttle: [{self.name}]}}]\n")
        server = bench.start(f"{self.name}-{number}", ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text",
                                                       "--config", file))
        server.await_stderr(all_ready(WORKERS), START_SECONDS)
        return server, Connection(socket_path)

    @staticmethod
    def _totals(connections):
        starts = requests = 0
        for connection in connections:
            connection.request("GET", "/v1/throttles")
            totals = json.loads(connection.getresponse().read())["throttles"][0]["totals"]
            starts, requests = starts + totals["starts"], requests + totals["requests"]
        return starts, requests

    def _await(self, connections, starts):
        """Until there were so many. Return when, and how many requests there were by then."""
        deadline = time.monotonic() + START_SECONDS + 3 * self._period
        while True:
            found, requests = self._totals(connections)
            now = time.monotonic()
            if found >= starts:
                return now, requests
            if now > deadline:
                raise Failure(f"{found} of {starts} tasks have started")
            time.sleep(POLL_SECONDS)

    def _measure(self, connections):
        """The first start of each window follows that of the one before as soon as the limit allows."""
        begun, before = self._await(connections, self._limit + 1)
        for number in range(2, self._periods + 2):
            ended, requests = self._await(connections, number * self._limit + 1)
        # A request and its answer.
        return {"used": self._period * self._periods / (ended - begun),
                "messages_a_start": 2 * (requests - before) / (self._periods * self._limit)}

    def run(self, bench):
        bench.fill(QUEUE, (self._periods + 3) * self._limit, SMALL)
        servers, connections = [], []
        try:
            for number in range(SUPERVISORS):
                server, connection = self._start(bench, number)
                servers.append(server)
                connections.append(connection)
            figures = self._measure(connections)
            for server in servers:
                server.stop_at_once()
            return figures | turn_facts(servers[0])
        finally:
            for server in servers:
                server.kill()
            bench.delete(QUEUE)


def both():
    yield SharedThrottle(1, 10)
    yield SharedThrottle(10, 2)
