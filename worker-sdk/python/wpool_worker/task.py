"""What all handlers see of a task."""

from __future__ import annotations

import time
from typing import Any, Dict, Mapping, Optional, Protocol

from .control import CANCEL

# The maximum of an int64, as in the C SDK; a larger value means no limit.
_LIMIT_MAX_MS = (1 << 63) - 1


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _deadline(value: Any) -> Optional[float]:
    """Return the end of TimeoutMilliseconds; None if there is no limit."""
    try:
        limit_ms = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return time.monotonic() + limit_ms / 1000 if 0 <= limit_ms <= _LIMIT_MAX_MS else None


class TaskHost(Protocol):
    """What runs handlers."""

    @property
    def is_supervisor_gone(self) -> bool:
        """Whether the supervisor is gone."""


class StopEvent(Protocol):
    """An event of asyncio or of threading."""

    def set(self) -> None: ...


class TaskFacts:
    """A message for the handler.

    id: the number of this attempt, which the supervisor's log shows too; None in pools with `pipe: corefx`.
    headers: its headers, a dict. deadline: the end of TimeoutMilliseconds, in the time of time.monotonic(), or None.
    """

    deadline: Optional[float] = None
    # Set by control lines.
    _is_cancelled = False
    _is_switched = False
    _is_answered = False

    _stop_event: Optional[StopEvent] = None

    def __init__(self, fields: Mapping[str, Any], host: TaskHost) -> None:
        self._host = host
        task_id = fields.get("7")
        self.id: Optional[int] = task_id if type(task_id) is int and task_id >= 1 else None
        headers = fields.get("3")
        self.headers: Dict[str, Any] = headers if type(headers) is dict else {}
        if headers and "TimeoutMilliseconds" in headers:
            self.deadline = _deadline(headers["TimeoutMilliseconds"])
        self._fields = fields

    @property
    def correlation_id(self) -> str:
        """"" if there is none."""
        return _text(self._fields.get("1"))

    @property
    def queue(self) -> str:
        """The queue of its pool."""
        return _text(self._fields.get("2"))

    @property
    def session(self) -> str:
        """The key of its session (pools with `session`); "" if it has none. Tasks with the same key run one at a time
        and in order, in whichever worker."""
        return _text(self._fields.get("4"))

    @property
    def properties(self) -> Dict[str, Any]:
        """The message's properties (pools with `properties: true`, else empty)."""
        properties = self._fields.get("6")
        return properties if isinstance(properties, dict) else {}

    @property
    def attempt(self) -> Optional[int]:
        """Which attempt of the message this is, from 1; None in pools without `properties: true`."""
        return self._count("attempt")

    @property
    def attempts(self) -> Optional[int]:
        """How many attempts there are in all (the pool's `retry.attempts`). In the attempt of that number, or a later
        one, a failure is final. None in pools without `properties: true`, and from an older supervisor."""
        return self._count("attempts")

    def _count(self, name: str) -> Optional[int]:
        count = self.properties.get(name)
        return count if type(count) is int and count >= 1 else None

    @property
    def is_text(self) -> bool:
        """Whether the body is text, which means valid UTF-8."""
        return not isinstance(self._fields.get("0"), bytes)

    @property
    def body(self) -> bytes:
        """The body as bytes."""
        body = self._fields.get("0")
        if isinstance(body, str):
            return body.encode("utf-8", "surrogateescape")
        return body or b""

    @property
    def text(self) -> str:
        """The body as str; UnicodeDecodeError if it is not UTF-8."""
        body = self._fields.get("0")
        return body if isinstance(body, str) else self.body.decode("utf-8")

    @property
    def remaining(self) -> Optional[float]:
        """Seconds until the deadline; 0 if it is over, None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def _wants_stop(self) -> bool:
        return self._is_switched or self._is_cancelled or self.remaining == 0 or self._host.is_supervisor_gone

    def _refresh(self) -> None:
        """Set the stop event if it is time."""
        if self._stop_event is not None and self._wants_stop():
            self._stop_event.set()

    def _obey(self, request: bytes) -> None:
        """Do what a control line asks of this task."""
        if request == CANCEL:
            self._is_cancelled = True
        else:
            self._is_switched = True
        self._refresh()

    def __str__(self) -> str:
        return "the task" if self.id is None else f"task {self.id}"
