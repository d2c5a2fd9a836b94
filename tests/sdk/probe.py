#!/usr/bin/python3
"""The Python SDK's half of the SDK checks: the same worker as probe.c; both answer alike. The deeds below
"Several at once" are for python_sdk only."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import Done, Fail, HandBack, Postpone, Reject, Reply, run  # noqa: E402


def nothing(task, rest):
    raise RuntimeError("as a C handler that returns without an answer")


def accept(task, rest):
    task.accept()


def progress(task, rest):
    task.progress(rest)


def hard_limit(task, rest):
    task.set_hard_limit(int(rest) / 1000)
    for wrong in 0, -1, 31536001, float("nan"), float("inf"), "1", True, None:
        try:
            task.set_hard_limit(wrong)
        except (TypeError, ValueError):
            continue
        return "also a bad one"
    return Reply("set", headers={"a": "of the answer"})


def facts(task, rest):
    return ",".join(("text" if task.is_text else "bytes", task.correlation_id, task.queue,
                     task.headers.get("a", "none"), task.properties.get("message_id", "none")))


def attempts(task, rest):
    return "not known" if task.attempts is None else f"{task.attempt} of {task.attempts}"


def limit(task, rest):
    if task.remaining is None:
        return "none"
    return "some" if task.remaining > 0 else "over"


def until_stop(task, rest):
    task.progress("begun")
    return "stopped" if task.stop_event.wait(30) else "not stopped"


def ask_twice(task, rest):
    task.progress("begun")
    while not task.should_stop():
        time.sleep(0.001)
    return "stopped" if task.stop_event.wait(10) else "not stopped"


def fork(task, rest):
    """A child that holds all our descriptors, those of the watch included, and outlives the task."""
    parent = os.getpid()
    task.stop_event
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.01)
        os._exit(0)
    return "forked"


WRONG = {
    "header": lambda task: Reply("x", headers={1: "a"}),
    "queue": lambda task: Reply("x", queue=1),
    "status": lambda task: Reject(400.5),
    "delay": lambda task: Fail(500, retry_after_ms="soon"),
    "time": lambda task: Postpone(99.5),
    "note": lambda task: task.progress(1),
    "answer": lambda task: Reply,
}


def should_stop(task, rest):
    return "yes" if task.should_stop() else "no"


def stdin(task, rest):
    return "empty" if os.read(0, 1) == b"" else "not empty"


# ---- Several at once ----

gates = {}
gates_lock = threading.Lock()


def gate_of(name):
    with gates_lock:
        return gates.setdefault(name, threading.Event())


def gate(task, rest):
    """Wait until another task opens the gate."""
    task.progress("begun")
    return f"passed {rest}" if gate_of(rest).wait(30) else "shut"


def open_gate(task, rest):
    gate_of(rest).set()


def until_cancelled(task, rest):
    task.progress("begun")
    task.stop_event.wait(30)
    return "cancelled" if task.is_cancelled else "not cancelled"


def poll_cancelled(task, rest):
    task.progress("begun")
    while not task.is_cancelled:
        time.sleep(0.001)
    return "cancelled"


def thread_count(task, rest):
    return str(sum(thread.name == "wpool-task" for thread in threading.enumerate()))


def all_threads(task, rest):
    return str(threading.active_count())


class Unusual(BaseException):
    """Not an Exception."""


def throw(task, rest):
    raise {"error": RuntimeError, "exit": SystemExit, "unusual": Unusual, "generator": GeneratorExit}[rest](3)


DEEDS = {
    "gate": gate,
    "open": open_gate,
    "until-cancelled": until_cancelled,
    "until-stop-or-cancel": until_cancelled,
    "poll-cancelled": poll_cancelled,
    "thread-count": thread_count,
    "all-threads": all_threads,
    "throw": throw,
    "os-exit": lambda task, rest: os._exit(int(rest)),
    "done": lambda task, rest: Done(),
    "reply": lambda task, rest: rest,
    "reply-to": lambda task, rest: Reply("elsewhere", queue=rest),
    "header": lambda task, rest: Reply("with headers", headers={"a": rest, "n": -40000}),
    "reject": lambda task, rest: Reject(int(rest)),
    "fail": lambda task, rest: Fail(int(rest)),
    "fail-after": lambda task, rest: Fail(503, retry_after_ms=int(rest)),
    "postpone": lambda task, rest: Postpone(int(rest)),
    "nothing": nothing,
    "accept": accept,
    "progress": progress,
    "hard-limit": hard_limit,
    "hand-back": lambda task, rest: HandBack(rest, headers={"step": "2"}),
    "facts": facts,
    "attempts": attempts,
    "limit": limit,
    "size": lambda task, rest: str(len(task.body)),
    "large": lambda task, rest: b"x" * int(rest),
    "should-stop": should_stop,
    "until-stop": until_stop,
    "ask-twice": ask_twice,
    "fork": fork,
    "wrong": lambda task, rest: WRONG[rest](task),
    "stdin": stdin,
}


def report(task):
    """What a task holds, for sdk_vectors.c."""
    return Reply(task.body, headers={
        "correlation_id": task.correlation_id, "queue": task.queue, "type": "str" if task.is_text else "bin",
        **({"session": task.session} if task.session else {}),
        **{f"h.{name}": value for name, value in task.headers.items()}})


def handle(task):
    if "PROBE_REPORTS" in os.environ:
        return report(task)
    word, _, rest = task.body.partition(b" ")
    return DEEDS[word.decode()](task, rest.decode("utf-8", "replace"))


class WithState:
    """A handler that is an object and a context manager."""

    def __enter__(self):
        self.count = 0
        print("entered", file=sys.stderr)

    def __call__(self, task):
        self.count += 1
        return str(self.count)

    def __exit__(self, *error):
        print(f"left after {self.count}", file=sys.stderr)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, lambda number, frame: None)
    sys.exit(run(WithState() if "object" in sys.argv else handle))
