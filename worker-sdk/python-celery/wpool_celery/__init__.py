"""`python3 -m wpool_celery -A proj.app`, the command of a pool, runs an unchanged Celery application in wpool: docs/celery.md."""

TESTED = ("5.2.6",)  # the versions of Celery with which the system tests run
