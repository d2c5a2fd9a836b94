"""Pieces of the adapter alone, for what no call from outside can bring about at a certain moment. usage: pieces.py"""

import os
import signal
import tempfile
import threading
import time

import msgpack
from celery import Celery, signals
from celery.utils.objects import Bunch
from celery.worker import state
from wpool_celery import consumer, pool, records
from wpool_worker.plain_task import Task

RUN = "application/json", None


class Request:
    """Celery's, as far as the pool knows it."""

    _already_revoked = False

    def __init__(self, message, time_limits=(None, None), acks_late=False):
        self.message, self.time_limits, self.id = message, time_limits, message.headers["id"]
        self.task = Bunch(acks_late=acks_late, time_limit=None, soft_time_limit=None)
        self.came = []

    def on_accepted(self, pid, when):
        self.pid = pid
        if self.message.headers.get("ends"):
            self.pool.terminate_job(pid, signal.SIGKILL)
            self._already_revoked = True

    def on_timeout(self, soft, limit):
        raise AssertionError

    def begin(self, pool, target):
        self.pool = pool
        pool.apply_async(target, ("name", self.id, {}, self.message.body, *RUN), accept_callback=self.on_accepted, timeout_callback=self.on_timeout,
                         callback=lambda result: self.came.append(("end", result)),
                         error_callback=lambda error: self.came.append(("error", error.type)))


def task(headers=(), fields=(), **properties):
    """One that notes what is written of it, and that the answer before was written."""
    host = Bunch(is_supervisor_gone=False, written=[])
    host.write, host.flush = host.written.append, lambda: host.written.append("flush")
    values = {"0": b"[[], {}, null]", "3": {"id": "an id", "task": "known", **dict(headers)}, **dict(fields),
              "6": {"attempt": 1, "attempts": 3, "content_type": "application/json", "content_encoding": "utf-8", **properties}}
    made = Task(values, host)
    made._packed = msgpack.packb(values)
    return made


def message(*headers, **properties):
    return pool.TaskMessage(task(headers, **properties), {"application/json"})


def a_pool():
    folder = tempfile.mkdtemp()
    made = pool.Pool(app=Celery(), records=folder)
    made.pid, made.records, made.lock = os.getpid(), os.path.join(folder, "x"), threading.Lock()
    made.journal = records.Journal(made.records)
    return made


def newer_celery_gives_its_promises_more():
    assert consumer.directly(None, (print,), on_error=repr) is print


def what_may_take_long_has_the_answer_before_written():
    worker = Bunch(strategies={"known": None})

    def at_once(task):
        return consumer.Consumer.begins_at_once(worker, task)

    def receiver(**_):
        pass

    assert at_once(task()) is True
    state.revoked.add("revoked")
    for headers in ({"expires": "2000-01-01"}, {"id": "revoked"}, {"id": None, "task": []}, {"id": []}, {"task": "unknown"},
                    {"compression": "application/x-gzip"}, {"stamped_headers": ["a"]}):
        assert not at_once(task(headers)), headers
    assert not at_once(task(attempt=2))
    assert not at_once(task(content_type="application/x-python-serialize"))
    signals.task_received.connect(receiver)
    assert not at_once(task())
    signals.task_received.disconnect(receiver)


def the_answer_before_is_written_first():
    for is_at_once, written in ((False, ["flush"]), (True, [])):
        worker = Bunch(begins_at_once=lambda task: is_at_once, loss_before=lambda task: None, handle=lambda message: None,
                       accept=None, pool=Bunch(lock=threading.Lock()))
        one = task()
        consumer.Consumer.work(worker, one)
        assert one._host.written == written, is_at_once


def who_terminates_a_task_that_is_over_does_not_end_the_next_one():
    made = a_pool()
    request = Request(message())

    def target(*args):
        made.end_terminated()  # this process lives
        return 0, "result", 1.0

    made.terminate_job(made.pid, signal.SIGKILL)
    request.begin(made, target)
    assert request.came == [("end", (0, "result", 1.0))], request.came


def a_task_terminated_as_it_begins_is_no_loss():
    made = a_pool()
    request = Request(message(("ends", True)))
    request.begin(made, lambda *args: 1 / 0)
    found = []
    made.journal.record_losses(lambda fields, *_: found.append(fields))
    assert request.came == found == [], (request.came, found)


def what_the_tracer_lets_pass_is_an_error_of_the_task():
    request = Request(message())
    request.begin(a_pool(), lambda *args: 1 / 0)
    assert request.came == [("error", ZeroDivisionError)], request.came


def any_hard_limit_can_be_set():
    for limit in (1e-3, 1e9, 1e300, float("inf")):
        request = Request(message(attempts=1), (limit, None), acks_late=True)
        request.begin(a_pool(), lambda *args: (0, "result", 1.0))
        assert len(request.came) == 1, limit


def a_fresh_loss_is_left_to_the_next_process_in_its_place():
    made, packed, now = a_pool(), msgpack.packb({"3": {}}), time.monotonic()
    for began, supervisor, count in ((now, os.getppid(), 0), (now - records.FRESH, os.getppid(), 1), (now + 99, os.getppid(), 1), (now, 1 << 30, 1)):
        with open(f"{made.records}-task-other-0", "wb") as file:
            file.write(records.HEAD.pack(len(packed), 0, began, supervisor, 4711, 0).ljust(records.START, b"\0") + packed)
        found = []
        made.journal.record_losses(lambda *loss: found.append(loss))
        assert found == [({"3": {}}, 0, 4711, b"")] * count, (began - now, supervisor, found)


def an_end_has_the_text_of_celery():
    for how, words in (("signal 9", "signal 9 (SIGKILL)"), ("exit status 3", "exitcode 3"), ("an unknown status: 999; signal 15", "signal 15 (SIGTERM)"),
                       ("", "killed, or exited"), ("['x']", "killed, or exited")):
        assert pool.celery_exit_text(how) == words, how


for test in [value for value in list(globals().values()) if getattr(value, "__module__", None) == __name__
             and value not in (Request, task, message, a_pool)]:
    test()
    print(test.__name__)
