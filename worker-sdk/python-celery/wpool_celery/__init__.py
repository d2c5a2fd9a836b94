"""`python3 -m wpool_celery -A proj.app`, the command of a pool, runs an unchanged Celery application in wpool: docs/celery.md."""

import os

TESTED = ("5.2.6",)  # the versions of Celery with which the system tests run
# Celery's own stacks of tasks for threads, which it reads when it is imported: the other ones, which are for greenlets, too,
# take a sixth of the CPU time of an empty task.
os.environ.setdefault("USE_FAST_LOCALS", "1")
