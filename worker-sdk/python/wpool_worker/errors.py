"""What ends a worker, and the lines that it prints about it."""

from __future__ import annotations

import sys
import traceback


class Broken(Exception):
    """The worker cannot go on; the text says why."""


def log_error(text: str) -> None:
    """Print a line for the supervisor's log. One write, so that lines of other threads stay apart."""
    if sys.stderr is not None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def log_exception(what: str, error: BaseException) -> None:
    """Print what went wrong, and the stack."""
    stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    log_error(f"wpool worker: {what}:\n{stack.rstrip()}")
