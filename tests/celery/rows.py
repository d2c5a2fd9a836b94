"""Calls the tasks of orders.py as a producer does, and prints one line for each row: its name and what came of it. The same under
both workers, so that the lines can be compared. usage: rows.py ROW... (all of a group: its name)"""

import os
import sys
import time

import orders
from celery import chain, chord, group, signature
from celery.exceptions import TimeoutError
from orders import app
from support import outcome, wait_until

LONG = 30  # seconds; only what never comes waits so long


def get(result, seconds=LONG):
    return outcome(result, seconds)


def trailed(text):
    wait_until(lambda: any(text in line for line in open(orders.TRAIL, encoding="utf-8")), text)


def not_early(seconds, **options):
    late = orders.due.apply_async((time.time() + seconds,), **options).get(timeout=LONG)
    print(f"(late by {late:.3f} s)", file=sys.stderr)
    return late >= 0


def begun():
    """A task that has begun and does not end by itself."""
    result = orders.sleeps.delay(600)
    trailed(f"begun {result.id}")
    return result


def terminated(**options):
    result = begun()
    result.revoke(terminate=True, **options)
    return get(result)


def revoked(**options):
    """Every worker hears it before the task begins."""
    result = orders.add.apply_async((1, 1), countdown=2, **options)
    app.control.revoke(result.id, reply=True, timeout=1)
    return get(result)


def revoked_late():
    result = orders.counted_late.apply_async((0,), countdown=2)
    app.control.revoke(result.id, reply=True, timeout=1)
    return get(result)


def with_errback():
    result = orders.fails.apply_async(("seen",), link_error=orders.errback.s())
    trailed(f"errback {result.id} ValueError('seen')")
    return get(result)


def ignored():
    result = orders.ignores.delay()
    wait_until(lambda: result.state == "SKIPPED", "the state of the ignored task")
    return f"{result.state} {result.info}"


def traceback():
    result = orders.fails.delay("traced")
    get(result)
    return [line.strip() for line in result.traceback.splitlines()[-2:]]


def text_of(size):
    return "x" * (size - 200)  # the rest of the body has its place in `size`


def linked():
    result = orders.add.apply_async((1, 2), link=orders.add.s(10))
    get(result)
    wait_until(lambda: result.children, "the linked task")
    return get(result.children[0])


CALLS = {
    "json": lambda: get(orders.add.delay(2, 3)),
    "text": lambda: get(orders.add.delay("ä€", "😀")),
    "keywords": lambda: get(orders.add.apply_async(kwargs={"x": [1], "y": [None]})),
    "pickle": lambda: get(orders.add.apply_async(({1}, ), {"y": 2}, serializer="pickle")),
    "yaml": lambda: get(orders.add.apply_async((2, 3), serializer="yaml")),
    "gzip": lambda: get(orders.add.apply_async((2, 3), compression="gzip")),
    "bzip2": lambda: get(orders.add.apply_async((2, 3), serializer="pickle", compression="bzip2")),
    "itself": lambda: get(orders.itself.apply_async((), priority=3, time_limit=20, headers={"kind": "new"})),
    "large argument": lambda: get(orders.length.delay(text_of(16 << 20))),
    "large result": lambda: len(orders.repeated.delay("x", 5_000_000).get(timeout=LONG)),
    "unknown": lambda: get(app.send_task("orders.no_such_task")),
    "wrong arguments": lambda: get(orders.add.delay(1)),
}
PROTOCOL_1 = {name: CALLS[name] for name in ("json", "pickle", "gzip")}
PROTOCOL_1["not early, protocol 1"] = lambda: not_early(1, countdown=1)
RESULTS_RPC = {
    "raises": lambda: get(orders.fails.delay("ouch")),
    "traceback": traceback,
}
RESULTS = {
    **RESULTS_RPC,
    "ignored": ignored,
    "rejected": lambda: get(orders.rejects.delay(), 1),
    "rejected once": lambda: get(orders.rejects_once.delay()),
    "failed unacked": lambda: get(orders.fails_unacked.delay()),
}
CANVAS = {
    "chain": lambda: get(chain(orders.add.s(1, 2), orders.add.s(3), orders.add.s(4))()),
    "group": lambda: get(group(orders.add.s(i, i) for i in range(20))()),
    "chord": lambda: get(chord((orders.add.s(i, i) for i in range(20)), orders.total.s())()),
    "chord with an error": lambda: get(chord([orders.add.s(1, 1), orders.fails.s("part")], orders.total.s())()),
    "nested": lambda: get(chain(orders.add.s(1, 1), group(orders.add.s(1), orders.add.s(2)), orders.total.s(), orders.add.s(5))()),
    "replace": lambda: get(orders.replaces.delay(5)),
    "link": linked,
    "link_error": with_errback,
}
CANVAS_RPC = {name: CANVAS[name] for name in ("chain", "group", "link", "link_error")}
LATER = {
    "retry": lambda: get(orders.retries.delay(2, 0.3)),
    "retries exhausted": lambda: get(orders.retries.delay(9, 0.1)),
    "autoretry": lambda: get(orders.autoretries.delay(1)),
    "countdown": lambda: not_early(1.5, countdown=1.5),
    "short countdown": lambda: not_early(0.05, countdown=0.05),
    "long countdown": lambda: not_early(11, countdown=11),
    "expired": lambda: get(orders.add.apply_async((1, 1), countdown=2, expires=1)),
}
REVOKES = {
    "revoked before its eta": revoked,
    "revoked, late ack": revoked_late,
    "terminated": terminated,
    "terminated by KILL": lambda: terminated(signal="SIGKILL"),
}


def without_exitcode(text):
    """Celery's process ends with 0 then, which looks as if nothing had happened."""
    return text.partition("exitcode")[0]


LIMITS = {
    "soft": lambda: get(orders.soft_limited.delay(600)),
    "soft of the message": lambda: get(orders.sleeps.apply_async((600,), soft_time_limit=0.5)),
    "hard": lambda: get(orders.hard_limited.delay(600)),
    "hard of the message": lambda: get(orders.sleeps.apply_async((600,), time_limit=1)),
    "hard, late ack": lambda: get(orders.hard_limited_late.delay(600)),
    "hard, in C": lambda: get(orders.hard_limited_in_c.delay(600)),
}
LOSSES = {
    "exit, early ack": lambda: get(orders.dies_early.delay("exit")),
    "exit, late ack": lambda: get(orders.dies_late.delay("exit")),
    "SystemExit": lambda: without_exitcode(get(orders.dies_early.delay("system exit"))),
    "SystemExit, late ack": lambda: without_exitcode(get(orders.dies_late.delay("system exit"))),
    "SIGSEGV, early ack": lambda: get(orders.dies_early.delay("SIGSEGV")),
    "SIGKILL, early ack": lambda: get(orders.dies_early.delay("SIGKILL")),
    "SIGKILL, late ack": lambda: get(orders.dies_late.delay("SIGKILL")),
}
# Celery does not end this one by itself.
LOST_SAFE = {"SIGKILL, reject_on_worker_lost": lambda: get(orders.dies_safe.delay("SIGKILL"))}
GROUPS = {"calls": CALLS, "protocol-1": PROTOCOL_1, "results": RESULTS, "results-rpc": RESULTS_RPC, "canvas": CANVAS,
          "canvas-rpc": CANVAS_RPC, "later": LATER, "revokes": REVOKES,
          "limits": LIMITS, "losses": LOSSES, "lost-safe": LOST_SAFE}


def main(names):
    for name in names:
        for row, run in GROUPS[name].items():
            try:
                print(f"{row}: {run()}", flush=True)
            except Exception as error:
                print(f"{row}: raised {error!r}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or GROUPS)
