"""A worker that does no work, in Python."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import run  # noqa: E402

if __name__ == "__main__":
    sys.exit(run(lambda task: None))
