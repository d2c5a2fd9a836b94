#!/usr/bin/python3
"""Counts the words of a file, which is the message's body, and replies {"words": n, "lines": n,
"bytes": n}. A word is a longest run of bytes other than space, \\t, \\n, \\v, \\f and \\r, as `wc -w`
has it; a line is what ends in \\n."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import Reply, run  # noqa: E402


def count(text):
    return {"words": len(text.split()), "lines": text.count(b"\n"), "bytes": len(text)}


def handle(task):
    return Reply(json.dumps(count(task.body)), headers={"content-type": "application/json"})


if __name__ == "__main__":
    sys.exit(run(handle))
