"""One run of one contestant: a full queue, and how long until it is empty and all is acked."""

import itertools
import math
import re
import time

from . import Failure
from .contestants import QUEUE, REPLIES
from .process import Account, Process, anonymous_kib

FILL_SECONDS = 300
START_SECONDS = 60
LEAST = 1000  # messages
WARM_UP = 10  # the clock starts when one in so many messages is settled, and all workers are up
LOOK_EVERY = 0.05
STUCK_SECONDS = 30
TRIES = 5


class Window:
    """From the moment the contestant is at work to the moment the queue is empty and all is acked."""

    def __init__(self, bench, process, contestant, count):
        self._bench, self._process, self._contestant, self._count = bench, process, contestant, count
        self._is_ready = not contestant.ready
        self._next_look = 0
        self.peak_kib = 0
        self.begun = self.ended = None
        self.begun_left = count

    def _look(self):
        """Now and then, because a look takes time from those who are measured."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY
        self._process.check()
        self.peak_kib = max(self.peak_kib, anonymous_kib(self._process.pid))
        self._is_ready = self._is_ready or self._process.has_said(self._contestant.ready)

    def _note(self, micros, left):
        if self.begun is None and self._is_ready and left <= self._count - self._count // WARM_UP:
            self.begun, self.begun_left = micros, left
            self.account = Account(self._process, self._bench.node.pid)
        if left == 0:
            self.ended = micros
            self.account_at_end = Account(self._process, self._bench.node.pid)

    def follow(self):
        lowest, moved = self._count, time.monotonic()
        for micros, left in self._bench.referee.samples():
            if left < 0:
                continue
            self._look()
            self._note(micros, left)
            if self.ended:
                return
            if left < lowest:
                lowest, moved = left, time.monotonic()
            if time.monotonic() - moved > STUCK_SECONDS:
                raise Failure(f"{left} of {self._count} messages left, and none settled for {STUCK_SECONDS} s")

    @property
    def is_worth(self):
        """Not when all was over before the workers were up."""
        return self.begun is not None and self.begun < self.ended and self.begun_left > 0


def turn_facts(said):
    found = re.findall(r"longest turn of the loop: ([\d.]+) ms, ([\d.]+) ms of it computing", said)
    return {"longest_turn_ms": float(found[-1][0]), "computing_ms": float(found[-1][1])} if found else {}


def check_account(contestant, process, count, replies):
    """Every message once: what a contestant says that it did, and what came of it."""
    done = None
    if contestant.is_wpool:
        found = re.search(r"drained: (\d+) done, 0 handed on in slices, 0 tried again, 0 given up", process.said())
        done = int(found.group(1)) if found else -1
    elif contestant.command[0].startswith("BUILD/bench"):
        done = int(process.printed())
    if done not in (None, count):
        raise Failure(f"{done} done of {count}: {process.said()[-400:]}")
    if replies not in (None, count):
        raise Failure(f"{replies} replies to {count}")


class Runner:
    def __init__(self, bench):
        self._bench = bench
        self._counts = {}  # messages for the next run of each contestant
        self._serial = itertools.count(1)

    def _start(self, name, argv, environment=None, stdout_to=None):
        return Process(self._bench.folder, f"{name}-{next(self._serial)}", argv, environment, stdout_to)

    def _fill(self, contestant, count):
        argv = [self._bench.build / "bench/fill", *contestant.fill]
        if contestant.is_rpc:
            argv += ["--reply-to", REPLIES]
        process = self._start("fill", [*argv, self._bench.node.url, QUEUE, count, contestant.size])
        if process.wait(FILL_SECONDS) != 0:
            raise Failure(f"the queue could not be filled: {process.said()}")

    def _start_sink(self):
        sink = self._start("sink", [self._bench.build / "bench/sink", self._bench.node.url, REPLIES])
        sink.await_words("consuming", START_SECONDS)
        return sink

    def _start_contestant(self, contestant):
        url = self._bench.node.url
        environment = {name: value.replace("URL", url) for name, value in contestant.environment}
        to = "/dev/null" if contestant.name == "amqp-consume" else None
        return self._start(contestant.name, contestant.argv(self._bench.build, url), environment, to)

    def _measure(self, contestant, count, sink):
        self._fill(contestant, count)
        self._bench.referee.watch(QUEUE)
        process = self._start_contestant(contestant)
        try:
            window = Window(self._bench, process, contestant, count)
            window.follow()
            workers_kib = sum(map(anonymous_kib, process.workers()))
            process.stop()
            replies = None
            if sink:
                sink.stop()
                replies = int(sink.printed())
            check_account(contestant, process, count, replies)
            return window, {"workers_kib": workers_kib} | turn_facts(process.said())
        finally:
            process.kill()
            self._bench.referee.stop()
            self._bench.referee.delete(QUEUE)

    def _run(self, contestant, count):
        sink = self._start_sink() if contestant.is_rpc else None
        try:
            return self._measure(contestant, count, sink)
        finally:
            if sink:
                sink.kill()

    def _size_next(self, contestant, count, window):
        """So many that the clock runs for the wished time, by the speed of this run."""
        if not window.is_worth:
            self._counts[contestant.name] = 2 * count
            return
        rate = window.begun_left / (window.ended - window.begun) * 1e6
        early = count - window.begun_left if contestant.ready else 0
        wished = rate * self._bench.seconds
        room = max(LEAST // 20, self._bench.most_bytes // contestant.size)
        wanted = min(max(wished * WARM_UP / (WARM_UP - 1), early + wished), room)
        step = LEAST if wanted >= LEAST else LEAST // 20
        self._counts[contestant.name] = max(step, math.ceil(wanted / step) * step)

    def run(self, contestant):
        """One round's figures."""
        for _ in range(TRIES):
            count = self._counts.get(contestant.name, self._first_count(contestant))
            window, facts = self._run(contestant, count)
            self._size_next(contestant, count, window)
            if window.is_worth:
                return self._figures(count, window) | facts
        raise Failure("all was done before its workers were up, however many messages there were")

    def _first_count(self, contestant):
        wanted = min(contestant.guess * min(1, self._bench.seconds), self._bench.most_bytes // contestant.size)
        step = LEAST if wanted >= LEAST else LEAST // 20
        return max(step, int(wanted) // step * step)

    @staticmethod
    def _figures(count, window):
        seconds = (window.ended - window.begun) / 1e6
        return {
            "rate": window.begun_left / seconds,
            "messages": count,
            "seconds": seconds,
            "cpu_us": window.account_at_end.per_message_us(window.account, window.begun_left),
            "supervisor_kib": window.peak_kib,
        }
