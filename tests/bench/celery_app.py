"""Celery as it does best here: no results, acks after the task, prefetch for a queue of short tasks. CELERY_EARLY: acks before the
task, as by default; CELERY_RESULTS: where results go."""

import os
import time

from celery import Celery
from kombu import Exchange, Queue
from kombu.transport import pyamqp

# Celery 5.2 asks for a prefetch of the whole channel, which quorum queues refuse.
pyamqp.Transport.qos_semantics_matches_spec = lambda transport, connection: True

app = Celery(broker=os.environ["CELERY_URL"])
app.conf.update(
    task_acks_late="CELERY_EARLY" not in os.environ,
    result_backend=os.environ.get("CELERY_RESULTS"),
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
