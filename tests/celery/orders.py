"""The Celery application of the tests: a task for each thing that a task can do. It does not know under which worker it runs.

Its environment: ORDERS_BROKER, ORDERS_BACKEND, ORDERS_QUEUE; ORDERS_TRAIL, a file to which it writes what happens; ORDERS_SETTINGS,
more of its configuration, as a JSON object; ORDERS_SAY, what it prints when it is loaded.
"""

import ctypes
import json
import os
import signal
import time

from celery import Celery, signals
from celery.exceptions import Ignore, Reject, SoftTimeLimitExceeded

if "ORDERS_SAY" in os.environ:
    print(os.environ["ORDERS_SAY"])
QUEUE = os.environ["ORDERS_QUEUE"]
TRAIL = os.environ["ORDERS_TRAIL"]

app = Celery("orders", broker=os.environ["ORDERS_BROKER"], backend=os.environ["ORDERS_BACKEND"])
app.conf.update(
    accept_content=["json", "pickle", "yaml"], task_default_queue=QUEUE, control_exchange=f"{QUEUE}.control",
    event_exchange=f"{QUEUE}.event", event_queue_prefix=f"{QUEUE}.events", task_protocol=int(os.environ.get("ORDERS_PROTOCOL", "2")),
    task_queue_max_priority=int(os.environ.get("ORDERS_PRIORITIES", "0")) or None, worker_prefetch_multiplier=1,
    worker_pool=os.environ.get("ORDERS_POOL", "prefork"), broker_connection_timeout=2, redis_retry_on_timeout=True, redis_socket_connect_timeout=2, result_extended=True)
app.conf.update(json.loads(os.environ.get("ORDERS_SETTINGS", "{}")))


def trail(*words):
    """One line; O_APPEND, so lines of several processes stay whole."""
    with open(TRAIL, "a", encoding="utf-8") as file:
        file.write(" ".join(map(str, words)) + "\n")


def trails(signal_name):
    def on_signal(**_):
        trail("signal", signal_name)

    getattr(signals, signal_name).connect(on_signal, weak=False)


if os.environ.get("ORDERS_SIGNALS"):
    for name in ("celeryd_init", "celeryd_after_setup", "worker_init", "worker_process_init", "worker_ready", "worker_shutting_down",
                 "worker_process_shutdown", "worker_shutdown", "task_received", "task_prerun", "task_postrun", "task_success",
                 "task_failure", "task_retry", "task_revoked", "task_rejected", "task_unknown"):
        trails(name)


@app.task
def add(x, y):
    return x + y


@app.task
def total(numbers):
    return sum(numbers)


@app.task
def length(text):
    return len(text)


@app.task
def repeated(text, times):
    return text * times


@app.task(bind=True)
def itself(self):
    request = self.request
    return {"id": request.id == request.root_id, "retries": request.retries, "args": list(request.args), "eager": request.is_eager,
            "called": request.called_directly, "key": request.delivery_info["routing_key"] == QUEUE,
            "priority": request.delivery_info["priority"], "again": request.delivery_info["redelivered"],
            "correlated": request.correlation_id == request.id, "limits": list(request.timelimit or ()), "group": request.group,
            "delayed": bool(request.eta), "header": request.get("kind")}


@app.task(bind=True, max_retries=3)
def retries(self, failures, countdown):
    if self.request.retries < failures:
        raise self.retry(countdown=countdown, exc=ValueError(f"retry {self.request.retries}"))
    return self.request.retries


@app.task(bind=True, autoretry_for=(OSError,), retry_backoff=1, retry_jitter=False, max_retries=1)
def autoretries(self, failures):
    if self.request.retries < failures:
        raise OSError(f"retry {self.request.retries}")
    return self.request.retries


@app.task
def fails(text):
    raise ValueError(text)


@app.task
def errback(request, error, traceback):
    trail("errback", request.id, repr(error))


@app.task(bind=True)
def replaces(self, x):
    return self.replace(add.s(x, 100))


@app.task(bind=True)
def ignores(self):
    self.update_state(state="SKIPPED", meta={"reason": "empty"})
    raise Ignore()


@app.task(acks_late=True)
def rejects():
    raise Reject("no", requeue=False)


@app.task(bind=True, acks_late=True)
def rejects_once(self):
    if not self.request.delivery_info["redelivered"]:
        raise Reject("not now", requeue=True)
    return "again"


@app.task(acks_late=True, acks_on_failure_or_timeout=False)
def fails_unacked():
    raise ValueError("kept")


@app.task(soft_time_limit=0.5, time_limit=20)
def soft_limited(seconds):
    try:
        time.sleep(seconds)
    except SoftTimeLimitExceeded:
        return "cleaned up"


@app.task(time_limit=1)
def hard_limited(seconds):
    trail("begun", "hard_limited")
    time.sleep(seconds)


@app.task(time_limit=1, acks_late=True)
def hard_limited_late(seconds):
    trail("begun", "hard_limited_late")
    time.sleep(seconds)


@app.task(time_limit=1)
def hard_limited_in_c(seconds):
    ctypes.PyDLL(None).sleep(seconds)  # holds the lock of the interpreter


@app.task(bind=True)
def sleeps(self, seconds):
    trail("begun", self.request.id, os.getpid())
    time.sleep(seconds)
    return seconds


@app.task
def process():
    return os.getpid()


@app.task
def grows(size):
    """Its process keeps so many bytes."""
    kept.append(b"x" * size)
    return os.getpid()


kept = []


@app.task(bind=True)
def waits(self, path):
    """Until the file is there."""
    trail("begun", self.request.id, os.getpid())
    while not os.path.exists(path):
        time.sleep(0.01)


def counted(task):
    trail("begun", task.request.id, os.getpid())
    time.sleep(task.request.args[0])
    return task.request.id


@app.task(bind=True)
def counted_early(self, seconds):
    return counted(self)


@app.task(bind=True, acks_late=True)
def counted_late(self, seconds):
    return counted(self)


@app.task(bind=True, acks_late=True, reject_on_worker_lost=True)
def counted_safe(self, seconds):
    return counted(self)


@app.task
def dies_early(how):
    die(how)


@app.task(acks_late=True)
def dies_late(how):
    die(how)


@app.task(acks_late=True, reject_on_worker_lost=True)
def dies_safe(how):
    die(how)


def die(how):
    trail("begun", "dies", how)
    if how == "exit":
        os._exit(3)
    if how == "system exit":
        raise SystemExit(3)
    os.kill(os.getpid(), getattr(signal, how))


@app.task(rate_limit="5/s")
def limited(number):
    trail("limited", time.time(), number)
    return number


@app.task
def notes(text):
    trail("note", text)


@app.task
def due(eta):
    """How late it is, in seconds since 1970."""
    return time.time() - eta


@app.task
def finds_connection():
    """Of a Django project: whether the connection of the task before is still open."""
    from django.db import connection

    is_open = connection.connection is not None
    connection.ensure_connection()
    return is_open


@app.task(ignore_result=True)
def nothing():
    pass
