"""Celery as it does best here: prefetch for a queue of short tasks, no events; results only where CELERY_RESULTS names a backend.
usage: celery_app.py COUNT, which calls the task `due` so often, due one after the other from 1 to 2 s later."""

import os
import sys
import time

from celery import Celery
from kombu import Exchange, Queue
from kombu.transport import pyamqp

# Celery 5.2 asks for a prefetch of the whole channel, which quorum queues refuse.
pyamqp.Transport.qos_semantics_matches_spec = lambda transport, connection: True

app = Celery("bench", broker=os.environ["CELERY_URL"], backend=os.environ.get("CELERY_RESULTS"))
app.conf.update(
    task_acks_late=os.environ.get("CELERY_ACKS") != "early",
    task_ignore_result="CELERY_RESULTS" not in os.environ,
    task_create_missing_queues=False,
    task_default_queue="bench",
    task_queues=[Queue("bench", exchange=Exchange(""), routing_key="bench", no_declare=True)],
    worker_prefetch_multiplier=int(os.environ["CELERY_PREFETCH"]),
    worker_send_task_events=False,
)


@app.task(name="noop")
def noop():
    return None


@app.task(name="wait")
def wait():
    time.sleep(0.01)


@app.task(name="due")
def due(at):
    """Print by how many seconds it is late."""
    print(f"late: {time.time() - at:.6f}", file=sys.__stderr__, flush=True)


if __name__ == "__main__":
    count = int(sys.argv[1])
    for number in range(count):
        countdown = 1 + number / count
        due.apply_async((time.time() + countdown,), countdown=countdown)
