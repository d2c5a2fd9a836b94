"""The threads of asyncio.to_thread()."""

from __future__ import annotations

import os
import queue
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Callable, List, Optional, Set, Tuple

_Work = Tuple["Future[Any]", Callable[[], Any]]


class DaemonExecutor(ThreadPoolExecutor):
    """Its threads end with the process: Python waits for those of a ThreadPoolExecutor, however long they take."""

    def __init__(self) -> None:
        super().__init__()
        self._max = min(32, (os.cpu_count() or 1) + 4)  # as in a ThreadPoolExecutor
        self._lock = threading.Lock()
        self._is_shut = False
        self._work: queue.SimpleQueue[Optional[_Work]] = queue.SimpleQueue()
        self._daemons: List[threading.Thread] = []
        self._pending: Set[Future[Any]] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            if self._is_shut:
                raise RuntimeError("the worker ends: no more work for threads")
            if len(self._daemons) < min(len(self._pending) + 1, self._max):
                thread = threading.Thread(target=self._serve, name="wpool-executor", daemon=True)
                thread.start()
                self._daemons.append(thread)
            self._pending.add(future)
        future.add_done_callback(self._forget)
        self._work.put((future, partial(fn, *args, **kwargs)))
        return future

    @property
    def pending(self) -> Set[Future[Any]]:
        """What is not done."""
        with self._lock:
            return set(self._pending)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._is_shut = True
        if cancel_futures:
            for future in self.pending:
                future.cancel()
        for _ in self._daemons:
            self._work.put(None)
        if wait:
            for thread in self._daemons:
                thread.join()

    def _forget(self, future: Future[Any]) -> None:
        with self._lock:
            self._pending.discard(future)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            future, call = work
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            del future, call, work
