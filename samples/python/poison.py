#!/usr/bin/python3
"""Dies when the body of a message is "poison", like a worker with a bug that one input triggers; such
messages become dead letters. Any other body is written as a line to the file DONE_FILE, or to standard
output if that is not set. With WORKER_IS_MENDED=1 this also holds for "poison"."""

import os
import resource
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import run  # noqa: E402

IS_MENDED = os.environ.get("WORKER_IS_MENDED") == "1"
DONE_FILE = os.environ.get("DONE_FILE", "/dev/stdout")


def handle(task):
    if task.text == "poison" and not IS_MENDED:
        print("cannot digest this", file=sys.stderr, flush=True)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.abort()
    # One write, so that lines of other workers cannot come in between.
    with open(DONE_FILE, "ab", buffering=0) as done:
        done.write(task.body + b"\n")


if __name__ == "__main__":
    sys.exit(run(handle))
