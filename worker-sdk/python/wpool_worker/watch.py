"""The thread that reads control lines while a plain handler works alone."""

from __future__ import annotations

import os
import select
import threading
import time

from .control import Control
from .plain_task import Task

# The maximum of an int, which poll() takes.
WAIT_MAX_MS = (1 << 31) - 1


class Watch:
    """Sets the stop event of one task. Between tasks only the main loop reads control lines, so that
    a line cannot reach the task after the one it was for."""

    def __init__(self, control: Control, task: Task) -> None:
        self._control = control
        self._task = task
        # Stopped by a byte, not by closing: a process that the handler forked may also hold the other end.
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="wpool-control", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        os.write(self._stop_write, b".")
        self._thread.join()
        os.close(self._stop_read)
        os.close(self._stop_write)

    def _wait_ms(self) -> float | None:
        deadline = self._task.deadline
        if deadline is None or self._task.stop_event.is_set():
            return None
        return min(max(0, (deadline - time.monotonic()) * 1000 + 1), WAIT_MAX_MS)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._stop_read, select.POLLIN)
        poll.register(self._control.fd, select.POLLIN)
        self._task._refresh()  # should_stop() may have read the line that asks
        while not self._control.closed:
            ready = dict(poll.poll(self._wait_ms()))
            if self._control.fd in ready:
                self._control.read()
            self._task._refresh()
            if self._stop_read in ready:
                return
