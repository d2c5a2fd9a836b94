"""Plain handlers in threads: several tasks at once, answered in any order."""

from __future__ import annotations

import heapq
import queue
import select
import threading
import time
from typing import Callable, Dict, List, Optional, Tuple

from .answers import Result
from .control import Control
from .encode import answer_frame, failure_frame
from .early import EarlyRequests
from .errors import Broken, log_error, log_exception
from .frames import FrameReader, Fields
from .pipe import Pipe
from .plain_task import Task
from .watch import WAIT_MAX_MS


# So many deadlines of tasks that have ended cost nothing.
_DEADLINES_KEPT = 64


class ThreadHost:
    """The thread that calls run() reads tasks and control lines. The others handle one task each and
    write its outputs; there are as many as were ever needed at once, at most `limit`."""

    def __init__(self, handler: Callable[[Task], Result], control: Control, pipe: Pipe, limit: int) -> None:
        self._handler = handler
        self._control = control
        self._pipe = pipe
        self._limit = limit
        self._open: Dict[int, Task] = {}
        self._deadlines: List[Tuple[float, int]] = []  # a heap, with the ids; tasks that have ended may be in it
        self._waiting: queue.SimpleQueue[Optional[Task]] = queue.SimpleQueue()
        self._threads: List[threading.Thread] = []
        self.write, self.flush = pipe.write, pipe.flush
        self._lacks_threads = False  # and this was printed
        self._broken: Optional[Broken] = None
        self._early = EarlyRequests(limit)
        self._frames = FrameReader()
        control.on_request = self._on_request

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._pipe.fd, select.POLLIN)
        poll.register(self._control.fd, select.POLLIN)
        while not self._control.is_over:
            ready = [fd for fd, _ in poll.poll(self._wait_ms())]
            self._stop_overdue_tasks()
            if self._pipe.fd in ready and not self._read_tasks():
                break
            if self._control.fd in ready:
                self._control.read()
        poll.unregister(self._control.fd)
        while poll.poll(0) and self._read_tasks():  # what came before the line that ends the worker
            pass
        self._finish()

    def _read_tasks(self) -> bool:
        """Read once; False at the end of the data pipe."""
        got = self._pipe.read(self._frames.read_size)
        if not got and self._frames.is_cut:
            raise Broken("the data pipe ended in the middle of a frame")
        for fields in self._frames.feed(got):
            self._begin(fields)
        return bool(got)

    def _begin(self, fields: Fields) -> None:
        task = Task(fields, self)
        if task.id is None:
            raise Broken("a task has no id, which concurrency above 1 requires")
        self._open[task.id] = task
        if task.deadline is not None:
            self._add_deadline(task.deadline, task.id)
        for request in self._early.take(task.id):
            task._obey(request)
        if len(self._threads) < min(len(self._open), self._limit):
            self._start_thread()
        self._waiting.put(task)

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name="wpool-task", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system allows no more; the task waits for one of the others
            if not self._threads:
                raise Broken(str(error)) from error
            if not self._lacks_threads:
                self._lacks_threads = True
                log_error(f"wpool worker: {error}: tasks wait for the {len(self._threads)} that there are")
            return
        self._threads.append(thread)

    def _finish(self) -> None:
        """Wait until the open tasks have ended; obey control lines meanwhile."""
        threading.Thread(target=self._read_control, name="wpool-control", daemon=True).start()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()
        if self._broken is not None:
            raise self._broken

    def _read_control(self) -> None:
        poll = select.poll()
        poll.register(self._control.fd, select.POLLIN)
        while not self._control.closed:
            if poll.poll(self._wait_ms()):
                self._control.read()
            self._stop_overdue_tasks()
        for task in list(self._open.values()):
            task._refresh()

    # Deadlines, in the thread that reads control lines.

    def _add_deadline(self, deadline: float, task_id: int) -> None:
        if len(self._deadlines) > 2 * len(self._open) + _DEADLINES_KEPT:
            self._deadlines = [entry for entry in self._deadlines if entry[1] in self._open]
            heapq.heapify(self._deadlines)
        heapq.heappush(self._deadlines, (deadline, task_id))

    def _wait_ms(self) -> Optional[float]:
        """Return how long poll() may wait."""
        if not self._deadlines:
            return None
        return min(max(0, (self._deadlines[0][0] - time.monotonic()) * 1000 + 1), WAIT_MAX_MS)

    def _stop_overdue_tasks(self) -> None:
        while self._deadlines and self._deadlines[0][0] <= time.monotonic():
            _, task_id = heapq.heappop(self._deadlines)
            if task := self._open.get(task_id):
                task._refresh()

    # In the other threads.

    def _serve(self) -> None:
        while (task := self._waiting.get()) is not None:
            frame = self._work(task)
            try:
                self.write(frame)
            except Broken as error:
                self._broken = error
                return

    def _work(self, task: Task) -> bytes:
        """Return the frame of the answer. An error of the handler fails only this task."""
        try:
            return answer_frame(self._handler(task), task)
        except Broken:  # progress could not be written, and neither can the answer
            return failure_frame(task)
        except BaseException as error:
            log_exception(f"{task} failed", error)
            return failure_frame(task)
        finally:
            task._is_answered = True
            self._forget(task)

    def _forget(self, task: Task) -> None:
        assert task.id is not None
        self._open.pop(task.id, None)

    def _on_request(self, request: bytes, task_id: Optional[int]) -> None:
        if task_id is None:
            return
        if task := self._open.get(task_id):
            task._obey(request)
        else:
            self._early.add(request, task_id)

    # What a task asks of its host.

    @property
    def is_supervisor_gone(self) -> bool:
        return self._control.closed

    def read_control(self) -> None:
        """The main thread reads the control lines."""

    def watch(self, task: Task) -> None:
        task._refresh()  # the deadline or a control line may have come before the event existed
