"""Plain handlers, one task at a time: each answer is written before the handler of the next task begins its work."""

from __future__ import annotations

import select
from typing import Callable, Iterator, Optional

from .answers import Result
from .control import Control
from .encode import answer_frame, failure_frame
from .early import EarlyRequests
from .errors import Broken, log_exception
from .frames import FrameReader
from .pipe import Pipe
from .plain_task import Task
from .watch import Watch


class SingleHost:
    def __init__(self, handler: Callable[[Task], Result], control: Control, pipe: Pipe) -> None:
        self._handler = handler
        self._control = control
        self._pipe = pipe
        self._task: Optional[Task] = None
        self._watch: Optional[Watch] = None
        self._early = EarlyRequests(1)
        self.write, self.flush = pipe.write, pipe.flush
        # A handler with this attribute calls task._flush(), if it writes nothing, before it runs anything that may take
        # long or end the process. The answer before may wait until then if the task is here: each write wakes the supervisor.
        self._may_hold: bool = getattr(handler, "flushes", False)
        control.on_request = self._on_request

    def run(self) -> None:
        try:
            self._work_on_all()
        finally:
            self.flush()

    def _work_on_all(self) -> None:
        frames, control, early, work = FrameReader(), self._control, self._early, self._work
        put = self._pipe.hold if self._may_hold else self._pipe.write
        for got in self._reads(frames):
            for fields in frames.feed(got):
                task = self._task = Task(fields, self)
                task._packed = frames.packed
                for request in early.take(task.id):
                    task._obey(request)
                put(work(task))
                if control.quit or control.closed:
                    return

    def _reads(self, frames: FrameReader) -> Iterator[bytes]:
        """Yield what the data pipe gives, until the worker should exit."""
        # The data pipe is first. poll checks them in this order, so when it reports a task it also
        # reports every control line written before it, and no line can reach the wrong task.
        poll = select.poll()
        poll.register(self._pipe.fd, select.POLLIN)
        poll.register(self._control.fd, select.POLLIN)
        while not self._control.is_over:
            ready = [fd for fd, _ in (poll.poll(0) if self._pipe.holds else poll.poll())]
            if not ready:
                self.flush()
            elif self._control.fd in ready:
                self._control.read()
            elif got := self._pipe.read(frames.read_size):
                yield got
            elif frames.is_cut:
                raise Broken("the data pipe ended in the middle of a frame")
            else:
                return

    def _work(self, task: Task) -> bytes:
        """Return the frame of the answer. An error of the handler fails only this task."""
        try:
            return answer_frame(self._handler(task), task)
        except (Broken, KeyboardInterrupt):
            raise
        except SystemExit as error:
            log_exception(f"{task} failed, exiting", error)
            self._pipe.write(failure_frame(task))
            raise
        except BaseException as error:
            log_exception(f"{task} failed", error)
            return failure_frame(task)
        finally:
            task._is_answered = True
            if self._watch is not None:
                self._watch.stop()
                self._watch = None

    def _on_request(self, request: bytes, task_id: Optional[int]) -> None:
        # A line that comes before the next task is for the last one, which has its answer.
        if self._task is not None and task_id in (None, self._task.id):
            self._task._obey(request)
        elif task_id is not None:
            self._early.add(request, task_id)

    # What a task asks of its host.

    @property
    def is_supervisor_gone(self) -> bool:
        return self._control.closed

    def read_control(self) -> None:
        if self._watch is None:
            self._control.drain()

    def watch(self, task: Task) -> None:
        self._watch = Watch(self._control, task)
