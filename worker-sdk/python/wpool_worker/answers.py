"""The answers of a handler. Each becomes one output map of the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Protocol, Union

_DELAY_MAX_MS = (1 << 63) - 1
_POSTPONE_MIN_MS, _POSTPONE_MAX_MS = 100, 365 * 86_400_000
Body = Union[bytes, bytearray, str]
Output = Dict[str, Any]  # the map of one frame


# The supervisor kills a worker that sends a wrong answer. So a mistake of the handler is refused here, where it
# fails only one task.


class _Origin(Protocol):
    """What an answer needs to know of its task."""

    @property
    def queue(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, Any]: ...


def check_body(body: object) -> None:
    if not isinstance(body, (bytes, bytearray, str)):
        raise TypeError(f"a body is bytes or str, not {type(body).__name__}")


def _check_headers(headers: object) -> None:
    if headers is not None and not isinstance(headers, dict):
        raise TypeError(f"headers are a dict, not {type(headers).__name__}")
    for name in headers or ():
        if not isinstance(name, str):
            raise TypeError(f"a header's name is a str, not {type(name).__name__}")


def _check_integer(number: object, minimum: int, maximum: int, what: str) -> None:
    if not isinstance(number, int):
        raise TypeError(f"{what} is an int, not {type(number).__name__}")
    if not minimum <= number <= maximum:
        raise ValueError(f"{what} is {minimum} to {maximum}, not {number}")


def _output(status: int, body: Optional[Body] = None, headers: Optional[Mapping[str, Any]] = None,
            queue: Optional[str] = None) -> Output:
    """The map of one frame, without the absent members."""
    output: Output = {"1": status}
    if body is not None:
        output["0"] = body
    if headers:
        output["2"] = headers
    if queue is not None:
        output["3"] = queue
    return output


@dataclass(frozen=True)
class Done:
    """Finished, without a reply."""

    def output(self, task: _Origin) -> Output:
        return _output(200)


@dataclass(frozen=True)
class Reply:
    """Finished; body goes to queue, or to the message's reply_to."""

    body: Body = b""
    queue: Optional[str] = None
    headers: Optional[Dict[str, Any]] = None

    def __post_init__(self) -> None:
        check_body(self.body)
        _check_headers(self.headers)
        if self.queue is not None and not isinstance(self.queue, str):
            raise TypeError(f"a queue is a str, not {type(self.queue).__name__}")

    def output(self, task: _Origin) -> Output:
        return _output(201, self.body, self.headers, self.queue)


@dataclass(frozen=True)
class HandBack:
    """The rest of a long task, for the tail of its own queue.

    The task's headers are included; headers given here are added or replace them.
    """

    body: Body
    headers: Optional[Dict[str, Any]] = None

    def __post_init__(self) -> None:
        check_body(self.body)
        _check_headers(self.headers)

    def output(self, task: _Origin) -> Output:
        headers = {**task.headers, **(self.headers or {})}
        return _output(201, self.body, headers, task.queue)


@dataclass(frozen=True)
class Reject:
    """The task can never succeed: it is dead-lettered. status: 400 to 499."""

    status: int = 400

    def __post_init__(self) -> None:
        _check_integer(self.status, 400, 499, "a rejection's status")

    def output(self, task: _Origin) -> Output:
        return _output(self.status)


@dataclass(frozen=True)
class Fail:
    """The task failed: it is retried, by the pool's policy. status: 500 to 599."""

    status: int = 500
    retry_after_ms: Optional[int] = None

    def __post_init__(self) -> None:
        _check_integer(self.status, 500, 599, "a failure's status")
        if self.retry_after_ms is not None:
            _check_integer(self.retry_after_ms, 0, _DELAY_MAX_MS, "retry_after_ms")

    def output(self, task: _Origin) -> Output:
        if self.retry_after_ms is None:
            return _output(self.status)
        return _output(self.status, headers={"RetryAfterMilliseconds": self.retry_after_ms})


@dataclass(frozen=True)
class Postpone:
    """The task comes back after delay_ms (100 to 365 days), as it is. No attempt is counted, however often."""

    delay_ms: int

    def __post_init__(self) -> None:
        _check_integer(self.delay_ms, _POSTPONE_MIN_MS, _POSTPONE_MAX_MS, "delay_ms")

    def output(self, task: _Origin) -> Output:
        return _output(503, headers={"PostponeMilliseconds": self.delay_ms})


Answer = Union[Done, Reply, HandBack, Reject, Fail, Postpone]
Result = Union[None, Body, Answer]


def output_of(result: Result, task: _Origin) -> Output:
    """Return the output for what a handler returned."""
    kind = type(result)
    if kind is str or kind is bytes:
        return {"0": result, "1": 201}
    if result is None:
        return {"1": 200}
    if isinstance(result, (bytes, bytearray, str)):
        return Reply(result).output(task)
    if isinstance(result, (Done, Reply, HandBack, Reject, Fail, Postpone)):
        return result.output(task)
    hint = "; write the handler as `async def`" if hasattr(result, "__await__") else ""
    raise TypeError(f"a handler answers with None, bytes, str or an answer, not {result!r}{hint}")
