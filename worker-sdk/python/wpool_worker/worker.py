"""run(): connects to the supervisor and chooses what runs the handler."""

from __future__ import annotations

import inspect
import io
import os
import sys
from contextlib import ExitStack, closing
from functools import partial
from typing import Awaitable, Callable, Optional, Union, cast

from .answers import Result
from .async_task import AsyncTask
from .control import Control
from .errors import Broken, log_error
from .pipe import Pipe
from .plain_task import Task
from .preload import die_with_supervisor, preload
from .single import SingleHost
from .threads import ThreadHost

PlainHandler = Callable[[Task], Result]
AsyncHandler = Callable[[AsyncTask], Awaitable[Result]]
Handler = Union[PlainHandler, AsyncHandler]

BLOCKED_AFTER = 5.0


def run(handler: Handler, *, blocked_after: Optional[float] = BLOCKED_AFTER) -> int:
    """Handle tasks until the supervisor ends the worker or is gone.

    handler: a function, an `async def` function, or an object with a `__call__` of either kind. If the object is a
    context manager (an async one for an async `__call__`), it is entered before the first task and left after the last.

    The pool's `concurrency` says how many tasks are handled at once: async ones in one event loop (uvloop's if it is
    installed), plain ones in as many threads. blocked_after: if an async handler keeps the loop for so many seconds,
    its stack is printed; None: never; ValueError if it is not above 0.

    In a pool with `preload` it first calls preload(), which returns in each worker.

    Return the exit status for the process: 0 if the supervisor ended it, 1 after a line on standard
    error that says what went wrong.
    """
    if blocked_after is not None and not blocked_after > 0:
        raise ValueError(f"blocked_after is a number of seconds above 0, or None, not {blocked_after!r}")
    is_async = _is_async(handler)
    if is_async:
        # Here, because workers with plain handlers start faster without asyncio; and before workers are forked.
        from . import async_host, event_loop
    preload()
    # The supervisor logs lines as they come, so do not buffer them. What is no file is the program's own affair.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    control = Control.on_stdin()
    try:
        limit, address = _concurrency(), control.read_address()
        die_with_supervisor()
        if is_async:
            _run_async(cast(AsyncHandler, handler), control, address, limit, blocked_after)
        else:
            _run_plain(cast(PlainHandler, handler), control, address, limit)
    except Broken as error:
        log_error(f"wpool worker: {error}, exiting")
        return 1
    return 0


def _concurrency() -> int:
    text = os.environ.get("WPOOL_CONCURRENCY", "1")
    if not text.isdecimal() or int(text) < 1:
        raise Broken(f"WPOOL_CONCURRENCY is {text!r}, not a number from 1")
    return int(text)


def _is_async(handler: Handler) -> bool:
    while isinstance(handler, partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))


def _run_plain(handler: PlainHandler, control: Control, address: str, limit: int) -> None:
    with ExitStack() as stack:
        if hasattr(type(handler), "__enter__"):
            stack.enter_context(handler)  # type: ignore[arg-type]
        pipe = stack.enter_context(closing(Pipe(address)))
        if limit == 1:
            SingleHost(handler, control, pipe).run()
        else:
            ThreadHost(handler, control, pipe, limit).run()


def _run_async(handler: AsyncHandler, control: Control, address: str, limit: int,
               blocked_after: Optional[float]) -> None:
    from .async_host import AsyncHost
    from .event_loop import event_loop

    is_manager = hasattr(type(handler), "__aenter__")
    with event_loop() as loop:
        if is_manager:
            loop.run_until_complete(handler.__aenter__())  # type: ignore[attr-defined]
        try:
            with closing(Pipe(address)) as pipe:
                AsyncHost(handler, control, pipe, limit, loop).run(blocked_after)
        finally:
            if is_manager:
                loop.run_until_complete(handler.__aexit__(*sys.exc_info()))  # type: ignore[attr-defined]
