"""Counts words and bytes as the samples do, after TASK_SECONDS. TASK_MODE=stubborn: ignores SIGTERM."""
import json
import os
import signal
import sys
import time

from wpool_worker import run


def handle(task):
    time.sleep(float(os.environ["TASK_SECONDS"]))
    return json.dumps({"words": len(task.body.split()), "bytes": len(task.body)})


if os.environ["TASK_MODE"] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.exit(run(handle))
