#!/usr/bin/python3
"""The same worker as knowing.c."""

import os
import signal
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import run  # noqa: E402


def stay():
    while True:
        signal.pause()


def handle(task):
    word, *rest = task.text.split(maxsplit=2)
    if word == "stay":
        stay()
    elif word == "before":
        return f"{os.getpid()}: {os.environ['WPOOL_TASK']}; {os.environ.get('WPOOL_LAST_EXIT', 'none')}"
    elif word == "limit" and task.attempt < task.attempts:
        task.set_hard_limit(int(rest[0]) / 1000)
        stay()
    elif word == "wait":
        task.set_hard_limit(int(rest[0]) / 1000)
        while not os.path.exists(rest[1]):
            time.sleep(0.005)
    place = " of ".join((os.environ["WPOOL_SLOT"], os.environ["WPOOL_WORKERS"]))
    return f"{os.environ['WPOOL_POOL']} {place}, attempt {task.attempt} of {task.attempts}"


sys.exit(run(handle))
