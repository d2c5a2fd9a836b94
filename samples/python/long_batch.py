#!/usr/bin/python3
"""A long task in slices: sums 1 to TotalCount, at most BatchExecutedCount numbers at a time or as
far as TimeoutMilliseconds allows, and hands the rest back to its own queue. The state travels in
the body, so any worker of the pool, in any language, can do the next slice:
  {"TotalCount": 1000, "BatchExecutedCount": 100, "Done": 300, "Sum": 45150}
Done and Sum are absent at first. The last slice answers the caller with the sum."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import HandBack, Reject, run  # noqa: E402

TOTAL_MAX = 4294967295  # the largest whose sum an int64 holds: workers in C share the state
NOT_A_BATCH = 400
OUT_OF_RANGE = 422
CLOCK_EVERY = 4096  # numbers between two looks at the clock


def read_batch(text):
    """Return the batch as a dict of its four numbers; None if the text is not a batch."""
    try:
        batch = {"Done": 0, "Sum": 0, **json.loads(text)}
        numbers = {key: batch[key] for key in ("TotalCount", "BatchExecutedCount", "Done", "Sum")}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return numbers if all(type(number) is int for number in numbers.values()) else None


def is_sound(batch):
    """The sum must be the one of the numbers done so far."""
    done = batch["Done"]
    return (0 <= batch["TotalCount"] <= TOTAL_MAX and batch["BatchExecutedCount"] >= 1
            and 0 <= done <= batch["TotalCount"] and batch["Sum"] == done * (done + 1) // 2)


def add_slice(task, batch):
    """Add at least one number, so that every slice makes progress."""
    count = min(batch["TotalCount"] - batch["Done"], batch["BatchExecutedCount"])
    for i in range(1, count + 1):
        batch["Done"] += 1
        batch["Sum"] += batch["Done"]
        if (i == 1 or i % CLOCK_EVERY == 0) and task.should_stop():
            break


def handle(task):
    batch = read_batch(task.body)
    if batch is None:
        return Reject(NOT_A_BATCH)
    if not is_sound(batch):
        return Reject(OUT_OF_RANGE)
    add_slice(task, batch)
    if batch["Done"] == batch["TotalCount"]:
        return str(batch["Sum"])
    return HandBack(json.dumps(batch))


if __name__ == "__main__":
    sys.exit(run(handle))
