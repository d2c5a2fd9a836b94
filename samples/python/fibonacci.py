#!/usr/bin/python3
"""A remote call: {"Value": n} is answered with the n-th Fibonacci number, for n from -20 to 20.
Below zero the sequence continues backwards: F(-n) = (-1)^(n+1) F(n), so F(-8) is -21."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import Reject, run  # noqa: E402

VALUE_MAX = 20
NOT_A_CALL = 400
OUT_OF_RANGE = 422


def fibonacci(n):
    current, following = 0, 1
    for _ in range(abs(n)):
        current, following = following, current + following
    return -current if n < 0 and n % 2 == 0 else current


def read_value(text):
    """Return n of the call; None if the text is not a call."""
    try:
        value = json.loads(text)["Value"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return value if type(value) is int else None


def handle(task):
    n = read_value(task.body)
    if n is None:
        return Reject(NOT_A_CALL)
    if abs(n) > VALUE_MAX:
        return Reject(OUT_OF_RANGE)
    return str(fibonacci(n))


if __name__ == "__main__":
    sys.exit(run(handle))
