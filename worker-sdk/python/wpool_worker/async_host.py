"""`async def` handlers: one asyncio task for each open task, answered in any order."""

from __future__ import annotations

import asyncio
import select
from asyncio import CancelledError
from functools import partial
from typing import Awaitable, Callable, Dict, Iterator, Optional

from .answers import Result
from .async_output import AsyncOutput
from .async_task import AsyncTask
from .control import Control
from .early import EarlyRequests
from .encode import answer_frame, failure_frame
from .errors import Broken, log_error, log_exception
from .event_loop import wait_for_end
from .frames import Fields, FrameReader
from .pipe import Pipe
from .watchdog import Watchdog

AsyncHandler = Callable[[AsyncTask], Awaitable[Result]]


class AsyncHost:
    def __init__(self, handler: AsyncHandler, control: Control, pipe: Pipe, limit: int,
                 loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._handler = handler
        self._control = control
        self._pipe = pipe
        self._limit = limit
        self._open: Dict[Optional[int], AsyncTask] = {}
        self._early = EarlyRequests(limit)
        self._frames = FrameReader()
        self._incoming: Iterator[Fields] = iter(())  # what was read
        self._next: Optional[Fields] = None  # waits until another task ends or the output is drained
        self._output = AsyncOutput(loop, pipe.out_fd, self._on_write_error, self._on_drained)
        self._is_beginning = False
        self._is_reading = True
        self._is_ending = False  # no more is read
        self._has_left = False
        self._error: Optional[BaseException] = None
        self._watchdog: Optional[Watchdog] = None
        control.on_request = self._on_request
        self.send = self._output.send

    def run(self, blocked_after: Optional[float]) -> None:
        self._pipe.set_blocking(False)
        # In a set of its own, because event loops make what they watch non-blocking.
        self._controls = select.epoll()
        self._controls.register(self._control.fd, select.EPOLLIN)
        self.loop.add_reader(self._controls.fileno(), self._read_control)
        self.loop.add_reader(self._pipe.fd, self._read_data)
        if blocked_after is not None:
            self._watchdog = Watchdog(self.loop, blocked_after, lambda: bool(self._open), self._describe)
        try:
            self._read_control()
            self.loop.run_forever()
            if not self._has_left:
                raise Broken("a handler stopped the event loop")
        finally:
            self._is_ending = self._has_left = True
            self._stop_reading()
            self._output.close()
            self.loop.remove_reader(self._controls.fileno())
            self._controls.close()
            if self._watchdog is not None:
                self._watchdog.stop()
            self._cancel_open_tasks()
        if self._error is not None:
            raise self._error

    # What comes in.

    def _read_data(self) -> None:
        if self._limit == 1:  # lines without an id that are here now are for the last task
            self._control.drain()
            self._check_control()
        self._read_once()

    def _read_once(self) -> bool:
        """Read what the data pipe has, begin its tasks, and return whether to read more."""
        if self._is_ending or self._is_beginning or self._next is not None:
            return False
        try:
            got = self._pipe.read(self._frames.read_size)
            if not got:
                self._on_end_of_data()
                return False
            self._incoming = self._frames.feed(got)
            self._begin_tasks()
        except BlockingIOError:
            return False
        except Broken as error:
            self._leave(error)
            return False
        return True

    def _on_end_of_data(self) -> None:
        if self._frames.is_cut:
            raise Broken("the data pipe ended in the middle of a frame")
        self._end()

    def _read_control(self) -> None:
        self._control.drain()
        while self._limit > 1 and self._read_once():  # the lines are for these, too
            pass
        self._check_control()

    def _check_control(self) -> None:
        if self._has_left:
            return
        if self._control.closed:
            self.loop.remove_reader(self._controls.fileno())  # its end would be reported without end
            for task in list(self._open.values()):
                task._refresh()
        # If a task waits to begin, _go_on_reading() comes back when the data pipe can be read to its end.
        if self._control.is_over and (self._limit == 1 or not (self._next or self._is_beginning)):
            self._end()

    def _on_request(self, request: bytes, task_id: Optional[int]) -> None:
        if task_id is None and self._limit == 1:
            tasks = list(self._open.values())
        elif task_id is None:
            return
        elif task_id in self._open:
            tasks = [self._open[task_id]]
        else:
            self._early.add(request, task_id)
            return
        for task in tasks:
            task._obey(request)

    # A task from its beginning to its end.

    def _begin_tasks(self) -> None:
        """Begin what was read, as far as allowed; then read on."""
        if self._is_beginning:  # a factory of eager tasks has run a handler to its end
            return
        self._is_beginning = True
        try:
            while self._take_next():
                if not self._can_begin():
                    self._stop_reading()
                    return
                fields, self._next = self._next, None
                assert fields is not None
                self._begin(fields)
        finally:
            self._is_beginning = False
        self._go_on_reading()

    def _take_next(self) -> bool:
        if self._next is None:
            self._next = next(self._incoming, None)
        return self._next is not None

    def _can_begin(self) -> bool:
        if self._limit > 1:
            return len(self._open) < self._limit and not self._output.is_full
        # The last answer must be written.
        return not self._open and self._output.is_empty and not self._is_ending

    def _begin(self, fields: Fields) -> None:
        task = AsyncTask(fields, self)
        if task.id is None and self._limit > 1:
            raise Broken("a task has no id, which concurrency above 1 requires")
        self._open[task.id] = task
        if self._watchdog is not None:
            self._watchdog.wake()
        task._running = self.loop.create_task(self._work(task))
        task._running.add_done_callback(partial(self._on_end_of_task, task))
        for request in self._early.take(task.id):
            task._obey(request)

    async def _work(self, task: AsyncTask) -> None:
        """Answer the task. An error of the handler fails only this task."""
        try:
            frame = answer_frame(await self._handler(task), task)
        except KeyboardInterrupt:
            raise
        except CancelledError as error:
            if self._has_left:
                raise
            if task._is_cancelled:
                log_error(f"wpool worker: {task} was cancelled")
            else:
                log_exception(f"{task} failed, because its handler cancelled it", error)
            frame = failure_frame(task)
        except SystemExit as error:
            log_exception(f"{task} failed", error)
            frame = failure_frame(task)
            if self._limit == 1:
                self._error, self._is_ending = error, True
        except BaseException as error:
            log_exception(f"{task} failed", error)
            frame = failure_frame(task)
        self._answer(task, frame)

    def _on_end_of_task(self, task: AsyncTask, running: asyncio.Task[None]) -> None:
        if not task._is_answered and not self._has_left:
            log_error(f"wpool worker: {task} was cancelled before it began")
            self._answer(task, failure_frame(task))

    def _answer(self, task: AsyncTask, frame: bytes) -> None:
        del self._open[task.id]
        task._finish()
        if self._has_left:
            return
        self._output.send(frame)
        if self._limit == 1:
            self._output.flush()
        if self._next is not None:
            self._on_drained()
        if self._is_ending:
            self._leave_if_idle()

    def _on_drained(self) -> None:
        """A task ended, or all output is written."""
        if self._has_left:
            return
        try:
            if self._next is not None:
                self._begin_tasks()
        except Broken as error:
            self._leave(error)
        if self._is_ending:
            self._leave_if_idle()

    def _stop_reading(self) -> None:
        self._is_reading = False
        self.loop.remove_reader(self._pipe.fd)

    def _go_on_reading(self) -> None:
        if self._is_ending:
            return
        if not self._is_reading:
            self._is_reading = True
            self.loop.add_reader(self._pipe.fd, self._read_data)
        if self._control.is_over:
            self.loop.call_soon(self._read_control)

    # The end.

    def _end(self) -> None:
        """Read no more; leave when the open tasks have ended."""
        self._is_ending = True
        self._stop_reading()
        self._leave_if_idle()

    def _leave_if_idle(self) -> None:
        if self._open or (self._next is not None and self._limit > 1):
            return
        self._output.flush()
        if self._output.is_empty:
            self._leave(None)

    def _leave(self, error: Optional[BaseException]) -> None:
        """From now on nothing touches the descriptors: they are closed while handlers may still run."""
        if self._has_left:
            return
        self._error = self._error or error
        self._is_ending = self._has_left = True
        self._output.close()
        self.loop.stop()

    def _cancel_open_tasks(self) -> None:
        running = [task._running for task in self._open.values() if task._running is not None]
        for task in self._open.values():
            if task._running is not None and not task._is_cancelled:
                task._running.cancel()
        wait_for_end(self.loop, running)

    def _on_write_error(self, error: OSError) -> None:
        self._leave(Broken(f"cannot answer: {error}"))

    # What a task and the watchdog ask of their host.

    @property
    def is_supervisor_gone(self) -> bool:
        return self._control.closed

    def read_control(self) -> None:
        self._read_control()

    def _describe(self) -> str:
        running = asyncio.current_task(self.loop)
        if running is None:
            return "a callback"
        for task in list(self._open.values()):
            if task._running is running:
                return str(task)
        return f"{running.get_name()}, which a handler started,"
