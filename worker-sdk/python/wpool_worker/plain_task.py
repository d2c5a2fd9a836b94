"""A task as a plain handler sees it."""

from __future__ import annotations

import threading
from typing import Any, Mapping, Optional, Protocol

from .answers import Body, check_body
from .encode import accept_frame, hard_limit_frame, last_frame, progress_frame
from .frames import Packed
from .task import TaskFacts, TaskHost


class Host(TaskHost, Protocol):
    """What runs plain handlers."""

    def read_control(self) -> None:
        """Read the control lines that are there now, unless another thread reads them."""

    def watch(self, task: Task) -> None:
        """See to it that the task's stop event is set as soon as task.wants_stop."""

    def write(self, frame: bytes) -> None:
        """Write one frame of the task."""

    def flush(self) -> None:
        """Write the answer of the task before, if it is held."""


class Task(TaskFacts):
    """A message for a plain handler, and for its thread. Until the handler returns, other threads may call progress() and
    set_hard_limit(), and wait for an event that stop_event returned."""

    _host: Host
    _stop_event: Optional[threading.Event] = None
    _packed: Packed = b""  # its fields as they came, where tasks run one at a time

    def __init__(self, fields: Mapping[str, Any], host: Host) -> None:
        super().__init__(fields, host)

    @property
    def is_cancelled(self) -> bool:
        """Whether the supervisor asked to give the task up (`__cancel__`). The answer still counts."""
        self._host.read_control()
        return self._is_cancelled

    def should_stop(self) -> bool:
        """Whether the task should save its state and answer: its time is over, or the supervisor asked for that or to
        give it up, or is gone. May cost a system call; once a millisecond is often enough."""
        self._host.read_control()
        return self._wants_stop()

    @property
    def stop_event(self) -> threading.Event:
        """An event that is set when should_stop() becomes true. From its first use on a thread may watch for that."""
        if self._stop_event is None:
            self._stop_event = threading.Event()
            self._host.watch(self)
        return self._stop_event

    def accept(self) -> None:
        """Have the message acked now, before the task is done: it is never retried, whatever happens. Not in a pool with
        `session`. Once is enough; a second time changes nothing."""
        if self._is_answered:
            raise RuntimeError("this task has its answer")
        self._host.write(accept_frame(self))

    def progress(self, note: Body) -> None:
        """Report progress to the supervisor: str or bytes, any number of times before the answer."""
        check_body(note)
        self._send(progress_frame(note, self))

    def set_hard_limit(self, seconds: float) -> None:
        """Set how long this attempt may take, from its begin, until the supervisor ends the worker. It replaces the
        pool's `limits.hard`, and may be shorter or longer, up to 365 days; the last one counts. Time that is over
        already ends the attempt now. A supervisor of an earlier version ignores it."""
        self._send(hard_limit_frame(seconds, self))

    def _flush(self) -> None:
        """Have the answer of the task before written, if it is held."""
        self._host.flush()

    def _answer_last(self) -> None:
        """Answer that the task is done and this process ends, of which no other task pays."""
        self._host.write(last_frame(self))

    def _send(self, frame: bytes) -> None:
        if self._is_answered:
            raise RuntimeError("this task has its answer")
        self._host.write(frame)
