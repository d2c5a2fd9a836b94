"""Runs an unchanged Celery application in the workers of wpool.

    python3 -m wpool_celery -A proj.app        # the command of a pool, in place of `celery -A proj.app worker`

Celery's own strategy, Request, tracer, events and remote control do the work. Replaced are the consumer (consumer.py:
messages come from the pipe, and acks become answers) and the process pool (pool.py: this process). docs/celery.md has the rest.
"""

TESTED = ("5.2.6",)  # the versions of Celery with which the system tests were run
