"""Reports handlers that block the event loop."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from typing import Callable

from .errors import log_error

# How often the loop is asked within the time for which it may be blocked.
_CHECKS = 5


class Watchdog:
    """A thread that asks the loop for a sign of life while tasks are open. If none comes, it prints
    the stack of the loop's thread, once for each blockage."""

    def __init__(self, loop: asyncio.AbstractEventLoop, blocked_after: float, is_busy: Callable[[], bool],
                 describe: Callable[[], str]) -> None:
        """blocked_after: in seconds. is_busy: whether tasks are open. describe: name what the loop is busy with,
        while it is blocked. Both are called in the thread."""
        self._loop = loop
        self._blocked_after = blocked_after
        self._is_busy = is_busy
        self._describe = describe
        self._loop_thread = threading.get_ident()
        self._has_tasks = threading.Event()
        self._sign = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wpool-watchdog", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Call after a task was opened."""
        if not self._has_tasks.is_set():
            self._has_tasks.set()

    def stop(self) -> None:
        self._stopping.set()
        self._has_tasks.set()
        self._sign.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._blocked_after / _CHECKS):
            if not self._is_busy():
                self._has_tasks.clear()
                # Before the flag was down, the loop may have opened one, or stop() may have set it.
                if not self._is_busy() and not self._stopping.is_set():
                    self._has_tasks.wait()
            asked = time.monotonic()
            self._sign.clear()
            if self._stopping.is_set():
                return
            self._loop.call_soon_threadsafe(self._sign.set)
            if not self._sign.wait(self._blocked_after):
                self._report(asked)

    def _report(self, asked: float) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        stack = "".join(traceback.format_stack(frame)).rstrip()
        log_error(f"wpool worker: {self._describe()} has blocked the event loop for {time.monotonic() - asked:.1f} s:\n"
                 f"{stack}")
        self._sign.wait()
        log_error(f"wpool worker: the event loop was blocked for {time.monotonic() - asked:.1f} s and goes on")
