"""The frames of outputs."""

from __future__ import annotations

import math
import threading
from typing import Callable, Optional

import msgpack

from .answers import Body, Done, Output, Result, output_of
from .frames import framed
from .task import TaskFacts

_OPTIONS = {"datetime": True, "unicode_errors": "surrogateescape"}
_ID_BYTES = 8
# A packer keeps a buffer as large as its largest output. Larger outputs get one of their own.
_KEPT_MAX = 64 << 10
HARD_LIMIT_MAX = 365 * 24 * 60 * 60  # seconds


class _Packers(threading.local):
    """One packer for each thread, because a packer is not safe for several."""

    def __init__(self) -> None:
        self.pack: Callable[[Output], bytes] = msgpack.Packer(**_OPTIONS).pack


_packers = _Packers()


def _frame(output: Output, task_id: Optional[int]) -> bytes:
    if task_id is not None:
        output["7"] = task_id
    if len(output.get("0", "")) > _KEPT_MAX:
        return framed(msgpack.packb(output, **_OPTIONS))
    return framed(_packers.pack(output))


def _status_frame(status: int) -> Callable[[TaskFacts], bytes]:
    """Return a function that makes the frame of this status alone: the most frequent outputs need no packer."""
    bare = framed(msgpack.packb({"1": status}))
    before_id = framed(msgpack.packb({"1": status, "7": (1 << 8 * _ID_BYTES) - 1}))[:-_ID_BYTES]

    def frame(task: TaskFacts) -> bytes:
        return bare if task.id is None else before_id + task.id.to_bytes(_ID_BYTES, "big")

    return frame


_done_frame = _status_frame(200)
accept_frame = _status_frame(-2)
last_frame = _status_frame(205)


def answer_frame(result: Result, task: TaskFacts) -> bytes:
    """Return the frame of what the handler returned. Raise if that is no answer."""
    if result is None or type(result) is Done:
        return _done_frame(task)
    return _frame(output_of(result, task), task.id)


def failure_frame(task: TaskFacts) -> bytes:
    """Return the frame that fails the task."""
    return _frame({"1": 500}, task.id)


def progress_frame(note: Body, task: TaskFacts) -> bytes:
    return _frame({"0": note, "1": -1}, task.id)


def hard_limit_frame(seconds: float, task: TaskFacts) -> bytes:
    """Return the frame that sets the hard limit. Raise if the supervisor would ignore it."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"a hard limit is a number of seconds, not {type(seconds).__name__}")
    if not 0 < seconds <= HARD_LIMIT_MAX:
        raise ValueError(f"a hard limit is above 0 and at most {HARD_LIMIT_MAX} seconds, not {seconds}")
    return _frame({"1": -1, "2": {"HardLimitMilliseconds": math.ceil(seconds * 1000)}}, task.id)
