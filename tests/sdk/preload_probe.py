#!/usr/bin/python3
"""The program of python_preload: preload_probe.py MODE. The body of a task is a command; its reply is JSON or text."""

import atexit
import ctypes
import errno
import gc
import json
import os
import random
import signal
import sys
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import preload, run  # noqa: E402

PR_GET_PDEATHSIG = 2
loader = os.getpid()


def death_signal():
    number = ctypes.c_int()
    ctypes.CDLL(None).prctl(PR_GET_PDEATHSIG, ctypes.byref(number), 0, 0, 0)
    return number.value


def facts():
    files = {}
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            files[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except FileNotFoundError:  # the one of the listing
            pass
    return {
        "pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "loader": loader, "files": files,
        "variables": {name: value for name, value in os.environ.items() if name.startswith("WPOOL_")},
        "death_signal": death_signal(), "random": random.random(), "frozen": gc.get_freeze_count(),
        "wakeup": signal.set_wakeup_fd(-1) if threading.current_thread() is threading.main_thread() else None,
    }


def handle(task):
    word, _, rest = task.text.partition(" ")
    if word == "facts":
        return json.dumps(facts())
    elif word == "print":
        print(rest)
        print(rest, file=sys.stderr)
    elif word == "hang":
        task.progress("begun")
        while True:
            signal.pause()
    return None


async def handle_async(task):
    return json.dumps(facts())


def fail_at(number, error):
    """Let the fork of this number fail. The count goes on in a forked process."""
    real, count = os.fork, 0

    def fork():
        nonlocal count
        count += 1
        if count == number:
            raise OSError(error, os.strerror(error))
        return real()
    os.fork = fork


def fail(*arguments):
    raise ValueError("no session \udcff" + "x" * 300)


def wait():
    while True:
        signal.pause()


def main(mode):
    atexit.register(lambda: print(f"left {os.getpid()}", file=sys.stderr, flush=True))
    print(f"loaded {os.getpid()}")  # not flushed: it must not come twice
    if mode == "thread":
        threading.Thread(target=wait, name="early").start()
        threading.Thread(target=wait, name="bird", daemon=True).start()
    elif mode == "fork-fails":
        fail_at(2, errno.EAGAIN)
    elif mode == "session-fails":
        os.setsid = fail
    elif mode == "worker-dies":
        os.setsid = lambda: os._exit(9)
    elif mode == "no-zombies":
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    elif mode == "closed":
        sys.stdout.flush()
        os.close(1)
    elif mode == "wakeup":
        _, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end)
    elif mode == "explicit":
        preload()
        print(f"begins as {os.environ['WPOOL_SLOT']}", flush=True)
    return run(handle_async if mode == "async" else handle)


sys.exit(main(*sys.argv[1:]))
