"""A task as an `async def` handler sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Awaitable, Mapping, Optional, Protocol

from .answers import Body, check_body
from .control import CANCEL
from .encode import accept_frame, hard_limit_frame, progress_frame
from .task import TaskFacts, TaskHost

if TYPE_CHECKING:
    import asyncio  # it takes long to load, and workers with plain handlers do without it


class LoopHost(TaskHost, Protocol):
    """What runs `async def` handlers."""

    loop: asyncio.AbstractEventLoop

    def read_control(self) -> None:
        """Read the control lines that are there now."""

    def send(self, frame: bytes) -> Awaitable[None]:
        """Send one frame of the task. Waiting for the result waits while the supervisor does not read."""


class AsyncTask(TaskFacts):
    """A message for an `async def` handler. Its methods are for the thread of the event loop."""

    _host: LoopHost
    _stop_event: Optional[asyncio.Event] = None
    _timer: Optional[asyncio.TimerHandle] = None
    _running: Optional[asyncio.Task[None]] = None

    def __init__(self, fields: Mapping[str, Any], host: LoopHost) -> None:
        super().__init__(fields, host)

    @property
    def is_cancelled(self) -> bool:
        """Whether the supervisor asked to give the task up (`__cancel__`). The handler also gets a CancelledError at
        what it awaits. If it lets that through, the task fails (500); what it returns instead is the answer."""
        return self._is_cancelled

    def should_stop(self) -> bool:
        """Whether the task should save its state and answer: its time is over, or the supervisor asked for that or to
        give it up, or is gone. Costs a system call: for handlers that compute without awaiting anything."""
        self._host.read_control()
        return self._wants_stop()

    @property
    def stop_event(self) -> asyncio.Event:
        """An event that is set when should_stop() becomes true: `await task.stop_event.wait()`."""
        if self._stop_event is None:
            import asyncio
            self._stop_event = asyncio.Event()
            if self.remaining:
                self._timer = self._host.loop.call_later(self.remaining, self._stop_event.set)
            self._refresh()
        return self._stop_event

    def accept(self) -> Awaitable[None]:
        """Have the message acked now, before the task is done: it is never retried, whatever happens. Not in a pool with
        `session`. Once is enough; a second time changes nothing. `await` it as progress()."""
        if self._is_answered:
            raise RuntimeError("this task has its answer")
        return self._host.send(accept_frame(self))

    def progress(self, note: Body) -> Awaitable[None]:
        """Report progress to the supervisor: str or bytes, any number of times before the answer. It is on its way
        without `await`; `await task.progress(…)` also waits while the supervisor does not read."""
        check_body(note)
        return self._send(progress_frame(note, self))

    def set_hard_limit(self, seconds: float) -> Awaitable[None]:
        """Set how long this attempt may take, from its begin, until the supervisor ends the worker. It replaces the
        pool's `limits.hard`, and may be shorter or longer, up to 365 days; the last one counts. Time that is over
        already ends the attempt now. A supervisor of an earlier version ignores it. It is on its way without `await`,
        as progress() is."""
        return self._send(hard_limit_frame(seconds, self))

    def _send(self, frame: bytes) -> Awaitable[None]:
        if self._is_answered:
            raise RuntimeError("this task has its answer")
        return self._host.send(frame)

    def _obey(self, request: bytes) -> None:
        # A second cancellation would interrupt the cleanup.
        if request == CANCEL and self._running is not None and not self._is_cancelled:
            self._running.cancel()
        super()._obey(request)

    def _finish(self) -> None:
        self._is_answered = True
        self._running = None
        if self._timer is not None:
            self._timer.cancel()
