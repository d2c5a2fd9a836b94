"""A worker whose tasks wait for 10 ms, as for a database, in Python's asyncio."""

import asyncio
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import run  # noqa: E402

WAIT_SECONDS = 0.010


async def handle(task):
    await asyncio.sleep(WAIT_SECONDS)

if __name__ == "__main__":
    sys.exit(run(handle))
