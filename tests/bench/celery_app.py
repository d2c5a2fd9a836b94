"""Celery as it does best here: prefetch for a queue of short tasks, no events; results only where CELERY_RESULTS names a backend."""

import os
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
