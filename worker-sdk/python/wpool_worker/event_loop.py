"""An event loop from its start to its end."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from typing import Any, Callable, Iterable, Iterator

from .errors import log_error
from .executor import DaemonExecutor

_new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
with suppress(ImportError):
    import uvloop
    _new_loop = uvloop.new_event_loop

# For what still runs at the end. The supervisor waits for limits.grace, 10 s by default.
_CLEANUP_SECONDS = 5.0


def cancel_and_wait(loop: asyncio.AbstractEventLoop, tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks of a loop that does not run, and wait for their ends."""
    rest = set(tasks)
    for running in rest:
        running.cancel()
    wait_for_end(loop, rest)


def wait_for_end(loop: asyncio.AbstractEventLoop, tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Run the loop until the tasks have ended, for at most _CLEANUP_SECONDS."""
    rest = set(tasks)
    if rest:
        loop.run_until_complete(asyncio.wait(rest, timeout=_CLEANUP_SECONDS))


def _end_threads(loop: asyncio.AbstractEventLoop, executor: DaemonExecutor) -> None:
    """Wait for what runs in the threads, for at most _CLEANUP_SECONDS: what then still runs ends with the process."""
    rest = [asyncio.wrap_future(future, loop=loop) for future in executor.pending]
    if rest:
        loop.run_until_complete(asyncio.wait(rest, timeout=_CLEANUP_SECONDS))
    if executor.pending:
        log_error("wpool worker: a thread that a handler started still works, not waiting for it")
    else:
        loop.run_until_complete(loop.shutdown_default_executor())


@contextmanager
def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Yield a loop that is the thread's own: uvloop's where it is installed. At the end cancel what still runs in it."""
    loop = _new_loop()
    asyncio.set_event_loop(loop)
    executor = DaemonExecutor()
    loop.set_default_executor(executor)
    try:
        yield loop
    finally:
        try:
            cancel_and_wait(loop, asyncio.all_tasks(loop))
            loop.run_until_complete(loop.shutdown_asyncgens())
            _end_threads(loop, executor)
        finally:
            asyncio.set_event_loop(None)
            loop.close()
