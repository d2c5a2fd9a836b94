"""The goals, each with the measured value."""

from .spread import differences, pick, ratios, spread


class Figures:
    """The data of the goals: {name of a measurement: its rounds}."""

    def __init__(self, rounds):
        self._rounds = rounds

    def of(self, name):
        return self._rounds.get(name, [])

    def ratio(self, name, other, path="rate"):
        return spread(ratios(self.of(name), self.of(other), path))

    def value(self, name, path):
        return spread(pick(self.of(name), path))

    def difference(self, name, other, path):
        return spread(differences(self.of(name), self.of(other), path))

    def worst(self, path):
        every = [value for name in self._rounds for value in pick(self.of(name), path)]
        return spread(every)


# What, unit, goal ("at least" or "at most"), figure. Counted by the median, the loop gap by its worst.
GOALS = (
    ("throughput, auto, 4 C workers", "× plain", ">=", 1.5, lambda f: f.ratio("wpool-auto-4", "plain")),
    ("throughput, auto, 4 C workers", "× Celery", ">=", 20, lambda f: f.ratio("wpool-auto-4", "celery")),
    ("an empty Celery task, 4 workers", "× celery worker", ">=", 3.5, lambda f: f.ratio("wpool-celery", "celery-app")),
    ("an empty Celery task, CPU without the broker's", "× celery worker", "<=", 0.35,
     lambda f: f.ratio("wpool-celery", "celery-app", "cpu_us_own")),
    ("the same, results in Redis", "× celery worker", ">=", 2,
     lambda f: f.ratio("wpool-celery-results", "celery-app-results")),
    ("an empty Celery task with events, CPU without the broker's", "× without events", "<=", 2,
     lambda f: f.ratio("wpool-celery-events", "wpool-celery", "cpu_us_own")),
    ("a Celery task with a countdown, longest of 200 delays", "ms", "<=", 200,
     lambda f: f.value("celery-countdown", "late_ms/100")),
    ("throughput, auto, 4 C workers, classic queue", "× plain, acks every 50th", ">=", 0.9,
     lambda f: f.ratio("classic-wpool-4", "classic-plain-50")),
    ("throughput, one in flight, 4 C workers", "× plain", ">=", 0.8, lambda f: f.ratio("wpool-one-4", "plain")),
    ("RPC, confirmed, 4 C workers", "× plain RPC", ">=", 0.7, lambda f: f.ratio("rpc-wpool", "rpc-plain")),
    ("supervisor's CPU a message, auto", "µs", "<=", 2, lambda f: f.value("wpool-auto-4", "cpu_us/supervisor")),
    ("supervisor's CPU a message, one in flight", "µs", "<=", 8,
     lambda f: f.value("wpool-one-4", "cpu_us/supervisor")),
    ("RPC round trip, idle, p50", "× plain RPC", "<=", 1.3,
     lambda f: f.ratio("latency-wpool", "latency-plain", "idle/us/50")),
    ("RPC round trip, idle, p99", "× plain RPC", "<=", 2,
     lambda f: f.ratio("latency-wpool", "latency-plain", "idle/us/99")),
    ("1,000 C workers, up", "s", "<=", 2, lambda f: f.value("start-1000", "start_seconds")),
    ("1,000 C workers, supervisor's memory at work", "KiB", "<=", 16 << 10,
     lambda f: f.value("wpool-auto-1000", "supervisor_kib")),
    ("1,000 C workers, throughput", "× that of 4", ">=", 0.8, lambda f: f.ratio("wpool-auto-1000", "wpool-auto-4")),
    ("4 idle workers, supervisor's memory", "KiB", "<=", 4 << 10, lambda f: f.value("start-4", "supervisor_kib")),
    ("no-op, 1 C worker, 100 at once", "× 4 workers, one in flight", ">=", 1.5,
     lambda f: f.ratio("many-noop", "wpool-one-4")),
    ("200 at once, 10 ms each, 1 C worker", "messages/s", ">=", 18_000, lambda f: f.value("many-wait", "rate")),
    ("200 at once, 10 ms each, 1 Python worker", "messages/s", ">=", 12_000,
     lambda f: f.value("many-wait-python", "rate")),
    ("10,000 open tasks, supervisor's memory", "KiB more than with 10", "<=", 16 << 10,
     lambda f: f.difference("many-open-10000", "many-open-10", "supervisor_kib")),
    ("10,000 open tasks, supervisor's CPU a message", "× with 10", "<=", 1.3,
     lambda f: f.ratio("many-open-10000", "many-open-10", "cpu_us/supervisor")),
    ("loop gap, 10,000 open tasks", "ms", "<=", 50, lambda f: f.value("many-open-10000", "longest_turn_ms")),
    ("throughput, auto, 4 Python workers", "× C", ">=", 0.8, lambda f: f.ratio("wpool-python-4", "wpool-auto-4")),
    ("1,000 keys, 4 C workers", "× without sessions", ">=", 0.8, lambda f: f.ratio("keys-1000", "keys-unordered")),
    ("1,000 keys, 4 C workers", "× plain", ">=", 1.2, lambda f: f.ratio("keys-1000", "plain")),
    ("1,000 keys, supervisor's CPU a message", "× without sessions", "<=", 1.15,
     lambda f: f.ratio("keys-1000", "keys-unordered", "cpu_us/supervisor")),
    ("100,000 keys (Zipf), 4 C workers", "× without sessions", ">=", 0.6,
     lambda f: f.ratio("keys-zipf", "keys-unordered")),
    ("1 key, 4 C workers", "× 1 worker, one in flight", ">=", 0.9,
     lambda f: f.ratio("keys-one", "keys-one-unordered")),
    ("1,000 keys, 1 ms a task, 64 C workers", "× 1 worker, one in flight", ">=", 40,
     lambda f: f.ratio("keys-wait", "keys-wait-unordered")),
    ("a throttle that never applies, 4 C workers", "× one in flight", ">=", 0.95,
     lambda f: f.ratio("throttle-idle", "wpool-one-4")),
    ("a throttle of 1,000 a second, under backlog", "messages/s", ">=", 990, lambda f: f.value("throttle-1000", "rate")),
    ("a pool beside one that is held back, 4 C workers", "× one in flight", ">=", 0.98,
     lambda f: f.ratio("throttle-beside", "wpool-one-4")),
    ("1,000 starts in 1 s, shared by 3 supervisors", "of the limit", ">=", 0.9, lambda f: f.value("throttle-shared-1", "used")),
    ("10,000 starts in 10 s, shared by 3 supervisors", "of the limit", ">=", 0.95,
     lambda f: f.value("throttle-shared-10", "used")),
    ("1,000 starts in 1 s, shared by 3 supervisors", "messages a start", "<=", 0.5,
     lambda f: f.value("throttle-shared-1", "messages_a_start")),
    ("core, offer to ack, 10,000 throttled keys", "ns more", "<=", 60, lambda f: f.value("core", "throttle_ns")),
    ("core, offer to ack, 1,000 keys", "× without a key", "<=", 4, lambda f: f.value("core", "ratio_1000")),
    ("core, offer to ack, 65,000 keys", "× without a key", "<=", 10, lambda f: f.value("core", "ratio_65000")),
    ("a session with a key of 20 bytes", "bytes", "<=", 320, lambda f: f.value("core", "session_bytes")),
    ("longest step of the core, 65,000 sessions lost", "ms", "<=", 50, lambda f: f.value("core", "longest_step_ms")),
    ("longest turn, 65,000 sessions listed and controlled", "ms", "<=", 50,
     lambda f: f.value("many-sessions", "longest_turn_ms")),
    ("active supervisor drained: next task", "s", "<=", 0.5, lambda f: f.value("takeover-drained", "gap_seconds")),
    ("active supervisor killed, takeover_delay 10 s: next task", "s", "<=", 11.5,
     lambda f: f.value("takeover-killed", "gap_seconds")),
    ("a killed worker of a preloaded pool, 100 MiB in Python: another one is ready", "ms", "<=", 50,
     lambda f: f.value("preload-replaced", "replace_ms")),
    ("loop gap, the longest of all runs", "ms", "<=", 50, lambda f: f.worst("longest_turn_ms")),
)


def is_reached(sign, goal, value):
    return value >= goal if sign == ">=" else value <= goal


def evaluate_goals(rounds):
    """Yield for each goal: what, unit, sign, goal, found (median, min, max; None: not measured), reached."""
    figures = Figures(rounds)
    for what, unit, sign, goal, figure in GOALS:
        found = figure(figures)
        counted = found and (found["max"] if what.startswith("loop gap") else found["median"])
        yield {"what": what, "unit": unit, "sign": sign, "goal": goal, "found": found,
               "reached": is_reached(sign, goal, counted) if found else None}
