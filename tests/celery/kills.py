"""Kills processes with -9 while 40 tasks run. usage: kills.py TASK (of workers), or kills.py TASK supervisor (says when the test
may kill it). Prints how many tasks there are of each state, and of each number of beginnings."""

import collections
import os
import signal
import sys
import threading

import orders
from orders import app
from support import outcome, wait_until

TASKS, SECONDS, PAUSE = 40, 0.5, 0.4


def begun():
    return [line.split() for line in open(orders.TRAIL, encoding="utf-8") if line.startswith("begun ")]


def kill_busy(stopping):
    """Of the tasks that have begun, the process that began the last one is the likeliest to be busy."""
    kills = 0
    while not stopping.wait(PAUSE) and kills < 10:
        for _, _, pid in reversed(begun()):
            try:
                os.kill(int(pid), signal.SIGKILL)
                kills += 1
                break
            except ProcessLookupError:
                continue
    print(f"({kills} kills)", file=sys.stderr)


def main(name, *of_whom):
    task = app.tasks[f"orders.{name}"]
    results = [task.delay(SECONDS) for _ in range(TASKS)]
    wait_until(lambda: len(begun()) >= 4, "the first tasks")
    stopping = threading.Event()
    killer = threading.Thread(target=kill_busy, args=(stopping,))
    if of_whom:
        orders.trail("ready")
    else:
        killer.start()
    states = collections.Counter(outcome(result).split("\n", maxsplit=1)[0].split(" prematurely")[0].split(" '")[0] for result in results)
    stopping.set()
    times = collections.Counter(collections.Counter(line[1] for line in begun()).values())
    for state, count in sorted(states.items()):  # "SUCCESS: 33"
        print(f"{state}: {count}")
    print(f"begun once: {times[1]}, again: {sum(times.values()) - times[1]}")


main(*sys.argv[1:])
