"""Celery's consumer, whose messages come from wpool's pipe."""

import sys
import time

from celery import signals
from celery.exceptions import WorkerShutdown
from celery.utils.objects import Bunch
from celery.utils.time import maybe_iso8601, maybe_make_aware
from celery.worker import consumer as celery_consumer
from celery.worker import state
from celery.worker.heartbeat import Heart
from kombu.asynchronous.timer import to_timestamp
from kombu.serialization import prepare_accept_content
from wpool_worker import Fail, Postpone, Reject, run
from wpool_worker.errors import log_error, log_exception
from wpool_worker.plain_task import Task

from .link import Events, Link
from .message import CRASHED, LATER_MIN, TIMED_OUT, TaskMessage
from .records import Rates

NEEDED = """wpool_celery: this pool cannot run Celery's tasks. Its messages wait. Add to its settings:
  {}
and reload wpool. `python3 -m wpool_celery --pool-config -A APP` prints a whole pool."""
NEEDED_PAUSE_MS = 10_000


def missing_settings(task):
    """Return what the pool lacks, as lines of its configuration."""
    headers = task.headers.values()
    return [line for line, is_missing in (
        ("body: bin", task.is_text),
        ("headers: typed", "timelimit" in task.headers and all(isinstance(value, str) for value in headers)),
        ("properties: true", "attempt" not in task.properties),
    ) if is_missing]


class Recorded:
    """In place of what runs tasks, for a task whose process is gone."""

    is_supervisor_gone = False

    def write(self, frame):
        """Nobody waits for its answer."""


class Consumer(celery_consumer.Consumer):
    connection = gossip = heart = None

    class Blueprint(celery_consumer.Consumer.Blueprint):
        default_steps = []

    def __init__(self, *args, worker_options=None, task_events=True, **options):
        super().__init__(*args, worker_options=worker_options, **options)
        if self.app.steps["consumer"]:
            log_error(f"wpool_celery: the application's steps for a consumer are not run: {self.app.steps['consumer']}")
        self.options, self.has_task_events = worker_options, task_events
        self.restart_count, self.fits = 0, False
        self.accept = prepare_accept_content(self.app.conf.accept_content)
        self.qos = Bunch(increment_eventually=lambda *_: None, decrement_eventually=lambda *_: None, value=1)
        queues = self.app.amqp.queues
        self.task_consumer = Bunch(queues=[queues[name] for name in queues.consume_from])

    def start(self):
        """Work until the supervisor ends this process."""
        app, options = self.app, self.options
        self.rates = Rates(self.pool.records)
        has_heart = not options["without_heartbeat"]
        self.event_dispatcher = Events(app=app, hostname=self.hostname, enabled=self.has_task_events or has_heart,
                                       groups=None if self.has_task_events else ["worker"])
        self.update_strategies()
        self.receive = self.create_task_handler()
        link = Link(self, app.conf.worker_enable_remote_control, not options["without_mingle"])
        link.start()
        link.is_ready.wait(5)  # the broker may be away: then no task comes either
        if has_heart:
            self.heart = Heart(self.timer, self.event_dispatcher, options["heartbeat_interval"])
            self.heart.start()
        self.pool.journal.record_losses(self.record_loss)
        self.on_ready()
        status = run(self.work)
        signals.worker_shutting_down.send(sender=self.hostname, sig="SIGTERM", how="Warm", exitcode=status)
        if self.heart:
            self.heart.stop()
        link.stop()
        raise WorkerShutdown(status)

    def stop(self):
        """It has stopped."""

    shutdown = stop

    def work(self, task):
        """Return the answer to a task."""
        if not self.fits and (missing := missing_settings(task)):
            log_error(NEEDED.format("\n  ".join(missing)))
            return Postpone(NEEDED_PAUSE_MS)
        self.fits = True
        message = TaskMessage(task, self.accept)
        message.lost, message.lost_by = self.loss_before(task)
        pool = self.pool
        pool.task, pool.has_begun = task, False
        try:
            self.handle(message)
        finally:
            with pool.lock:
                pool.task = pool.terminated = None
        if message.reason:
            log_error(f"wpool_celery: {message.headers.get('task')}[{message.headers.get('id')}]: {message.reason}")
        return message.answer or Fail()

    def handle(self, message):
        try:
            if message.errors:
                message._reraise_error(self.on_decode_error)
            elif not self.wait_for_eta(message):
                self.receive(message)
        except Exception as error:
            if self.pool.has_begun:
                raise SystemExit(f"the task's result could not be handled: {error!r}") from error
            log_exception("a message that is no task", error)
            message.refuse(400, f"not a task of Celery: {error!r}")

    def loss_before(self, task):
        """Return how the attempt before this one ended, if the task is not to run again: Celery would not run it, either."""
        reason, definition = task.headers.get("x-wpool-reason"), self.app.tasks.get(str(task.headers.get("task")))
        lost_by = str(task.headers.get("x-wpool-exit", TaskMessage.lost_by))
        if (task.attempt or 1) < 2 or reason == "killed" or not definition or not definition.acks_late:
            return None, lost_by  # one with an early ack that comes again was not accepted, so it never began
        if reason == TIMED_OUT:
            return TIMED_OUT, lost_by
        return None if definition.reject_on_worker_lost else CRASHED, lost_by

    def record_loss(self, fields, where):
        """Of a task that was in hand when its process ended, and that nobody gets again."""
        task = Task(fields, Recorded())
        message = TaskMessage(task, self.accept)
        message.lost = TIMED_OUT if where else CRASHED
        if where:
            log_error("wpool_celery: a task was over its hard time limit here:\n" + where.decode(errors="replace"))
        log_error(f"wpool_celery: {message.headers.get('task')}[{message.headers.get('id')}] has failed: its process ended")
        self.pool.has_begun = False
        self.handle(message)

    # What becomes of tasks that must wait.

    def wait_for_eta(self, message):
        """Postpone a task whose time has not come. Celery sees it when it begins; what is wrong with the eta, too."""
        eta = message.headers.get("eta")
        if not eta or message.lost or message.headers.get("id") in state.revoked:
            return False
        try:
            wait = to_timestamp(maybe_make_aware(maybe_iso8601(eta), self.app.conf.timezone)) - time.monotonic()
        except Exception:
            return False
        if wait >= LATER_MIN:
            message.postpone(wait)
        return message.answer is not None

    def _limit_task(self, request, bucket, tokens):
        message, wait = request.message, 0
        has_reserved = message.waited and not (request.eta and to_timestamp(request.eta) > time.monotonic() - 1)
        if not message.lost and not has_reserved:
            wait = self.rates.reserve(request.task.name, bucket.fill_rate)
        self.timer.call_at(time.monotonic() + wait, self._limit_move_to_pool, (request,))

    _limit_post_eta = _limit_task

    def call_soon(self, function, *args, **kwargs):
        return function(*args, **kwargs)

    # What cannot be run is kept as a dead letter, with the reason.

    def on_decode_error(self, message, exc):
        super().on_decode_error(message, exc)
        message.refuse(415, f"the body cannot be decoded: {exc!r}")

    def on_unknown_message(self, body, message):
        super().on_unknown_message(body, message)
        message.refuse(400, "not a task of Celery: it names no task")

    def on_unknown_task(self, body, message, exc):
        super().on_unknown_task(body, message, exc)
        message.refuse(404, f"the application has no task {exc}")

    def on_invalid_task(self, body, message, exc):
        super().on_invalid_task(body, message, exc)
        message.refuse(400, f"an invalid task: {exc}")
