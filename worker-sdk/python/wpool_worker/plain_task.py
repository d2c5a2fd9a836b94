"""A task as a plain handler sees it."""

from __future__ import annotations

import threading
from typing import Any, Mapping, Optional, Protocol

from .answers import Body, check_body
from .control import CANCEL
from .encode import progress_frame
from .task import TaskFacts


class Host(Protocol):
    """What runs plain handlers."""

    @property
    def is_supervisor_gone(self) -> bool:
        """Whether the supervisor is gone."""

    def read_control(self) -> None:
        """Read the control lines that are there now, unless another thread reads them."""

    def watch(self, task: Task) -> None:
        """See to it that the task's stop event is set as soon as task.wants_stop."""

    def write(self, frame: bytes) -> None:
        """Write one frame of the task."""


class Task(TaskFacts):
    """A message for a plain handler, and for its thread. Until the handler returns, other threads may call progress() and
    wait for an event that stop_event returned."""

    _stop_event: Optional[threading.Event] = None

    def __init__(self, fields: Mapping[str, Any], host: Host) -> None:
        super().__init__(fields)
        self._host = host

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

    def progress(self, note: Body) -> None:
        """Report progress to the supervisor: str or bytes, any number of times before the answer."""
        check_body(note)
        if self._is_answered:
            raise RuntimeError("this task has its answer")
        self._host.write(progress_frame(note, self))

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
