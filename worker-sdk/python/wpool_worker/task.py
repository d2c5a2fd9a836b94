"""One task, as a handler sees it."""

import os
import select
import threading
import time

import msgpack

from .answers import check_body

# The maximum of an int64, as in the C SDK; a larger value means no limit.
_LIMIT_MAX_MS = (1 << 63) - 1
# The maximum of an int, which poll() takes.
_WAIT_MAX_MS = (1 << 31) - 1


def _text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _map(value):
    return value if isinstance(value, dict) else {}


def _limit_ms(headers):
    """TimeoutMilliseconds as a number; None if there is no limit."""
    try:
        limit = int(headers["TimeoutMilliseconds"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return limit if 0 <= limit <= _LIMIT_MAX_MS else None


class Task:
    """A message for the handler.

    headers: its headers, a dict; correlation_id: "" if there is none; queue: the queue of
    its pool; properties: a dict (pools with `properties: true`, else empty); deadline: the end
    of TimeoutMilliseconds, in the time of time.monotonic(), or None.
    """

    def __init__(self, fields, write, control):
        self._body = fields.get("0")
        self.correlation_id = _text(fields.get("1"))
        self.queue = _text(fields.get("2"))
        self.headers = _map(fields.get("3"))
        self.properties = _map(fields.get("6"))
        limit_ms = _limit_ms(self.headers)
        self.deadline = None if limit_ms is None else time.monotonic() + limit_ms / 1000
        self._write = write
        self._control = control
        self._watch = None
        self._answered = False

    @property
    def is_text(self):
        """Whether the body is text, which means valid UTF-8."""
        return not isinstance(self._body, bytes)

    @property
    def body(self):
        """The body as bytes."""
        if isinstance(self._body, str):
            return self._body.encode("utf-8", "surrogateescape")
        return self._body or b""

    @property
    def text(self):
        """The body as str; UnicodeDecodeError if it is not UTF-8."""
        return self._body if isinstance(self._body, str) else self.body.decode("utf-8")

    @property
    def remaining(self):
        """Seconds until the deadline; 0 if it is over, None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def cancelled(self):
        """A threading.Event that is set when the task should save its state and answer, because its
        time is over or the supervisor asked. A thread sets it, from its first use on."""
        if self._watch is None:
            self._watch = _Watch(self._control, self.deadline)
        return self._watch.event

    def should_stop(self):
        """The same, checked now and without a thread. Once a millisecond is often enough."""
        if self._watch is not None:
            return self._watch.event.is_set()
        self._control.drain()
        return self._control.wants_stop or self.remaining == 0

    def progress(self, note):
        """Report progress to the supervisor: str or bytes, any number of times before the answer."""
        check_body(note)
        if self._answered:
            raise RuntimeError("this task has its answer")
        self._write(msgpack.packb({"0": note, "1": -1}))

    def _finish(self):
        self._answered = True
        if self._watch is not None:
            self._watch.stop()


class _Watch:
    """The thread that reads control lines during one task. Between tasks only the main loop reads
    them, so that a line cannot reach the task after the one it was for."""

    def __init__(self, control, deadline):
        self.event = threading.Event()
        self._control = control
        self._deadline = deadline
        # Stopped by a byte, not by closing: a process that the handler forked may also hold the other end.
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="wpool-control", daemon=True)
        self._thread.start()

    def stop(self):
        os.write(self._stop_write, b".")
        self._thread.join()
        os.close(self._stop_read)
        os.close(self._stop_write)

    def _wait_ms(self):
        if self._deadline is None or self.event.is_set():
            return None
        wait_ms = (self._deadline - time.monotonic()) * 1000 + 1
        return min(max(0, wait_ms), _WAIT_MAX_MS)

    def _judge(self):
        is_late = self._deadline is not None and time.monotonic() >= self._deadline
        if self._control.wants_stop or is_late:
            self.event.set()

    def _run(self):
        poll = select.poll()
        poll.register(self._stop_read, select.POLLIN)
        poll.register(self._control.fd, select.POLLIN)
        self._judge()  # should_stop() may have read the line that asks
        while not self._control.closed:
            ready = dict(poll.poll(self._wait_ms()))
            if self._control.fd in ready:
                self._control.read()
            self._judge()
            if self._stop_read in ready:
                return
