"""The answers of a handler. Each becomes one output map of the protocol."""

from dataclasses import dataclass
from typing import Optional, Union

_DELAY_MAX_MS = (1 << 63) - 1
Body = Union[bytes, bytearray, str]


# The supervisor kills a worker that sends a wrong answer. So a mistake of the handler is refused here, where it
# fails only one task.


def check_body(body):
    if not isinstance(body, (bytes, bytearray, str)):
        raise TypeError(f"a body is bytes or str, not {type(body).__name__}")


def _check_headers(headers):
    if headers is not None and not isinstance(headers, dict):
        raise TypeError(f"headers are a dict, not {type(headers).__name__}")
    for name in headers or ():
        if not isinstance(name, str):
            raise TypeError(f"a header's name is a str, not {type(name).__name__}")


def _check_integer(number, minimum, maximum, what):
    if not isinstance(number, int):
        raise TypeError(f"{what} is an int, not {type(number).__name__}")
    if not minimum <= number <= maximum:
        raise ValueError(f"{what} is {minimum} to {maximum}, not {number}")


def _output(status, body=None, headers=None, queue=None):
    """The map of one frame, without the absent members."""
    output = {"1": status}
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

    def output(self, task):
        return _output(200)


@dataclass(frozen=True)
class Reply:
    """Finished; body goes to queue, or to the message's reply_to."""

    body: Body = b""
    queue: Optional[str] = None
    headers: Optional[dict] = None

    def __post_init__(self):
        check_body(self.body)
        _check_headers(self.headers)
        if self.queue is not None and not isinstance(self.queue, str):
            raise TypeError(f"a queue is a str, not {type(self.queue).__name__}")

    def output(self, task):
        return _output(201, self.body, self.headers, self.queue)


@dataclass(frozen=True)
class HandBack:
    """The rest of a long task, for the tail of its own queue.

    The task's headers are included; headers given here are added or replace them.
    """

    body: Body
    headers: Optional[dict] = None

    def __post_init__(self):
        check_body(self.body)
        _check_headers(self.headers)

    def output(self, task):
        headers = {**task.headers, **(self.headers or {})}
        return _output(201, self.body, headers, task.queue)


@dataclass(frozen=True)
class Reject:
    """The task can never succeed: it is dead-lettered. status: 400 to 499."""

    status: int = 400

    def __post_init__(self):
        _check_integer(self.status, 400, 499, "a rejection's status")

    def output(self, task):
        return _output(self.status)


@dataclass(frozen=True)
class Fail:
    """The task failed: it is retried, by the pool's policy. status: 500 to 599."""

    status: int = 500
    retry_after_ms: Optional[int] = None

    def __post_init__(self):
        _check_integer(self.status, 500, 599, "a failure's status")
        if self.retry_after_ms is not None:
            _check_integer(self.retry_after_ms, 0, _DELAY_MAX_MS, "retry_after_ms")

    def output(self, task):
        if self.retry_after_ms is None:
            return _output(self.status)
        return _output(self.status, headers={"RetryAfterMilliseconds": self.retry_after_ms})


def from_result(result):
    """Return the answer for a result of the handler."""
    if result is None:
        return Done()
    if isinstance(result, (bytes, bytearray, str)):
        return Reply(result)
    if isinstance(result, (Done, Reply, HandBack, Reject, Fail)):
        return result
    raise TypeError(f"a handler answers with None, bytes, str or an answer, not {result!r}")
