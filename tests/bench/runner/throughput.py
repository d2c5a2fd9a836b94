"""One run of one contestant: the time from a full queue until it is empty and all is acked."""

import math
import re
import time

from . import Failure
from .bench import START_SECONDS
from .contestants import BESIDE, QUEUE, REPLIES, SMALL
from .process import Account, anonymous_kib, turn_facts

STEP, SMALL_STEP = 1000, 50  # messages come in multiples of one of these
WARM_UP = 10  # the clock starts when a tenth of the messages is settled and all workers are ready
SAMPLE_SECONDS = 0.05
STUCK_SECONDS = 30
TRIES = 6


class Window:
    """The time in which a contestant is measured: from its first settled messages until all are acked."""

    def __init__(self, bench, process, contestant, count):
        self._bench, self._process, self._contestant, self._count = bench, process, contestant, count
        self._is_ready = not contestant.ready
        self._next_sample = 0
        self.peak_kib = 0
        self.begun = self.ended = None
        self.begun_left = count

    def _sample(self):
        """Rarely, because a sample disturbs the measurement."""
        now = time.monotonic()
        if now < self._next_sample:
            return
        self._next_sample = now + SAMPLE_SECONDS
        self._process.check()
        self.peak_kib = max(self.peak_kib, anonymous_kib(self._process.pid))
        self._is_ready = self._is_ready or self._process.has_in_stderr(self._contestant.ready)

    def _record(self, micros, left):
        if self.begun is None and self._is_ready and left <= self._count - self._count // WARM_UP:
            self.begun, self.begun_left = micros, left
            self.account = Account(self._process, self._bench.node.pid)
        if left == 0:
            self.ended = micros
            self.account_at_end = Account(self._process, self._bench.node.pid)

    def follow(self):
        lowest, moved = self._count, time.monotonic()
        for micros, left in self._bench.probe.samples():
            if left < 0:
                continue
            self._sample()
            self._record(micros, left)
            if self.ended:
                return
            if left < lowest:
                lowest, moved = left, time.monotonic()
            if time.monotonic() - moved > STUCK_SECONDS:
                raise Failure(f"{left} of {self._count} messages left, and none settled for {STUCK_SECONDS} s")

    @property
    def counts(self):
        """False: all messages were settled before the workers were ready."""
        return self.begun is not None and self.begun < self.ended and self.begun_left > 0

    @property
    def rate(self):
        return self.begun_left / (self.ended - self.begun) * 1e6

    def figures(self):
        cpu_us = self.account_at_end.per_message_us(self.account, self.begun_left)
        return {
            "rate": self.rate,
            "messages": self._count,
            "seconds": (self.ended - self.begun) / 1e6,
            "cpu_us": cpu_us,
            "cpu_us_own": cpu_us["supervisor"] + cpu_us["workers"],
            "supervisor_kib": self.peak_kib,
        }


def check_account(contestant, process, count, replies):
    """Every message was handled once: by the report of the contestant, and by the replies."""
    done = count
    if contestant.is_wpool:
        found = re.findall(r"drained: (\d+) done\b(?!.* (?:handed on|retried|given up))", process.stderr())
        done = max(map(int, found), default=-1)  # the other one is the pool beside, which does little
    elif contestant.counts_itself:
        done = int(process.stdout())
    if done != count:
        raise Failure(f"{done} done of {count}: {process.stderr_tail()}")
    if replies not in (None, count):
        raise Failure(f"{replies} replies to {count}")


class Throughput:
    kind = "throughput"

    def __init__(self, contestant):
        self.contestant = contestant
        self.name, self.label, self.missing = contestant.name, contestant.label, contestant.missing
        self._count = None  # messages of the next run

    def _measure(self, bench, count, sink):
        c = self.contestant
        bench.fill(QUEUE, count, c.size, (*c.fill, *(("--reply-to", REPLIES) if c.is_rpc else ())))
        if c.beside:
            bench.fill(BESIDE, min(c.beside, count), SMALL)
        bench.probe.watch(QUEUE)
        redis = bench.start_redis() if c.has_redis else None
        process = bench.start(c.name, c.command_in(bench), c.environment, None if c.counts_itself else "/dev/null")
        try:
            window = Window(bench, process, c, count)
            window.follow()
            workers_kib = sum(map(anonymous_kib, process.workers()))
            process.stop()
            check_account(c, process, count, sink.stop_and_count() if sink else None)
            return window, {"workers_kib": workers_kib} | turn_facts(process)
        finally:
            process.kill()
            if redis:
                redis.kill()
            bench.delete(QUEUE)
            if c.beside:
                bench.delete(BESIDE)

    def _run_once(self, bench, count):
        if not self.contestant.is_rpc:
            return self._measure(bench, count, None)
        sink = bench.start("sink", ["BUILD/bench/sink", "URL", REPLIES])
        try:
            sink.await_stderr("consuming", START_SECONDS)
            return self._measure(bench, count, sink)
        finally:
            sink.kill()

    def _rounded(self, bench, wanted):
        wanted = min(max(wanted, self.contestant.fewest), bench.extent.max_bytes // self.contestant.size)
        step = STEP if wanted >= STEP else SMALL_STEP
        return max(step, math.ceil(wanted / step) * step)

    def _run_few(self, bench):
        """All may be settled before the clock starts: then there is no rate."""
        count = min(bench.extent.messages, bench.extent.max_bytes // self.contestant.size)
        window, facts = self._run_once(bench, count)
        return (window.figures() if window.counts else {"messages": count}) | facts

    def _size_next(self, bench, count, window):
        """Choose the number of messages for the target time, by the rate of this run."""
        if not window.counts:
            self._count = 2 * count
            return
        early = count - window.begun_left if self.contestant.ready else 0
        target = window.rate * bench.seconds
        self._count = self._rounded(bench, max(target * WARM_UP / (WARM_UP - 1), early + target))

    def run(self, bench):
        if bench.extent.messages:
            return self._run_few(bench)
        self._count = self._count or self._rounded(bench, self.contestant.guess * min(1, bench.seconds))
        for _ in range(TRIES):
            count = self._count
            window, facts = self._run_once(bench, count)
            self._size_next(bench, count, window)
            if window.counts:
                return window.figures() | facts
        raise Failure("all messages were settled before the workers were ready, in every try")
