#!/usr/bin/python3
"""A worker for pools with `preload`, which also works without it. It loads PRELOADED_MIB MiB (0) before it runs, and prints
"loaded N MiB in process PID" then. It replies with facts about its process: PID, pool, slot, how many workers, mark, whether
WPOOL_PRELOAD is unset, the process that loaded, and how much is loaded, as preload_raw.c does:

    pid 12 pool mail slot 0 of 2 mark 4f.1 preload unset loaded 300 by 10

The body of a task may be a command: `stay` waits for ever, `crash` dies of SIGKILL. PRELOADED_THREAD=1 starts a thread before it
runs, and PRELOADED_EXIT=1 exits with status 3 instead of running."""

import os
import signal
import sys
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import run  # noqa: E402

BLOCK = 64 << 10
MIB = int(os.environ.get("PRELOADED_MIB", "0"))


def stay():
    while True:
        signal.pause()


# Of random bytes, so that no two pages are alike.
model = [os.urandom(BLOCK) for _ in range(MIB * (1 << 20) // BLOCK)]
loader = os.getpid()
print(f"loaded {MIB} MiB in process {loader}", file=sys.stderr, flush=True)


def handle(task):
    if task.text == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    elif task.text == "stay":
        stay()
    known = {name: os.environ.get(f"WPOOL_{name}", "-") for name in ("POOL", "SLOT", "WORKERS", "WORKER")}
    preload = "set" if "WPOOL_PRELOAD" in os.environ else "unset"
    return (f"pid {os.getpid()} pool {known['POOL']} slot {known['SLOT']} of {known['WORKERS']} mark {known['WORKER']} "
            f"preload {preload} loaded {sum(map(len, model)) >> 20} by {loader}")


if os.environ.get("PRELOADED_EXIT"):
    sys.exit(3)
if os.environ.get("PRELOADED_THREAD"):
    threading.Thread(target=stay, name="early", daemon=True).start()
sys.exit(run(handle))
