"""Celery's consumer, whose messages come from wpool's pipe."""

import os
import time

from celery import signals
from celery.exceptions import WorkerShutdown
from celery.utils.log import get_logger
from celery.utils.objects import Bunch
from celery.utils.time import maybe_iso8601, maybe_make_aware
from celery.worker import consumer as celery_consumer
from celery.worker import state, strategy
from celery.worker.heartbeat import Heart
from kombu.asynchronous.timer import to_timestamp
from kombu.serialization import prepare_accept_content
from wpool_worker import Fail, run
from wpool_worker.errors import log_error, log_exception
from wpool_worker.plain_task import Task

from .link import Events, Link
from .pool import CRASHED, LATER_MIN, TIMED_OUT, TaskMessage, end_process
from .records import reserve

logger = get_logger(__name__)


def directly(call_soon, args, **_):
    """In place of a promise: what acks a message is called at once, and by no promise. Celery 5.3 and later also give on_error."""
    return args[0]


class Consumer(celery_consumer.Consumer):
    connection = gossip = None
    restart_count = 0

    class Blueprint(celery_consumer.Consumer.Blueprint):
        default_steps = []

        def info(self, parent):
            return {**celery_consumer.Connection.info(None, parent), **celery_consumer.Tasks.info(None, parent)}

    def __init__(self, *args, worker_options=None, task_events=True, **options):
        super().__init__(*args, worker_options=worker_options, **options)
        self.options, self.has_task_events = worker_options, task_events
        self.timer.stop = lambda: None  # nobody waits for its thread
        self.timer.call_at = lambda eta, function, args, **_: function(*args)  # Celery's way to an eta, which is over: see work()
        self.accept = prepare_accept_content(self.app.conf.accept_content)
        self.qos = Bunch(increment_eventually=lambda *_: None, decrement_eventually=lambda *_: None, value=1)
        queues = self.app.amqp.queues
        self.task_consumer = Bunch(queues=[queues[name] for name in queues.consume_from])
        if self.app.steps["consumer"]:
            logger.warning("wpool_celery: the application's own steps of a consumer are not run")

    def start(self):
        """Work until the supervisor ends this process."""
        self.hostname = self.controller.hostname = self.pool.hostname
        has_heart = not self.options["without_heartbeat"]
        self.event_dispatcher = Events(app=self.app, hostname=self.hostname, enabled=self.has_task_events or has_heart,
                                       groups=None if self.has_task_events else ["worker"])
        self.update_strategies()
        self.receive = self.create_task_handler(promise=directly)
        link = Link(self, not self.options["without_mingle"])
        link.start()
        link.is_ready.wait(5)  # the broker may be away
        heart = Heart(self.timer, self.event_dispatcher, self.options["heartbeat_interval"])
        if has_heart:
            heart.start()
        self.pool.journal.record_losses(self.record_loss)
        self.on_ready()
        status = run(self.work)
        signals.worker_shutting_down.send(sender=self.hostname, sig="SIGTERM", how="Warm", exitcode=status)
        heart.stop()
        link.stop()
        raise WorkerShutdown(status)

    stop = shutdown = lambda self: None  # start() has stopped

    def work(self, task):
        """Return the answer to a task."""
        if not self.begins_at_once(task):
            task._flush()
        message = TaskMessage(task, self.accept)
        message.lost = self.loss_before(task)
        try:
            self.handle(message)
        finally:
            with self.pool.lock:
                self.pool.request = self.pool.terminate_by = None
        if message.reason:
            log_error(f"wpool_celery: {message.headers.get('task')}[{message.headers.get('id')}]: {message.reason}")
        return message.answer or Fail()

    work.flushes = True

    def begins_at_once(self, task):
        """Whether nothing comes before it that may take long or end this process: no code of others, no result that is stored."""
        headers = task.headers
        try:
            return (task.attempt == 1 and task.properties.get("content_type") == "application/json"
                    and headers["task"] in self.strategies and headers["id"] not in state.revoked
                    and not (headers.get("expires") or headers.get("stamped_headers") or headers.get("compression")
                             or signals.task_received.receivers))
        except (KeyError, TypeError):  # no task of Celery
            return False

    def handle(self, message):
        self.pool.has_begun = False
        strategy.logger.disabled = bool(message.lost)  # it would log that the task was received
        try:
            if message.errors:
                message._reraise_error(self.on_decode_error)
            elif message.lost or not self.is_early(message):
                self.receive(message)
        except Exception as error:
            if self.pool.has_begun:
                end_process("the end of the task cannot be handled", error)
            log_exception("a message is no task", error)
            message.refuse(400, f"no task of Celery: {error!r}")

    def loss_before(self, task):
        """Return how the attempt before this one ended, if Celery would not run the task again."""
        if task.attempt == 1:
            return None
        definition, reason = self.app.tasks.get(str(task.headers.get("task"))), task.headers.get("x-wpool-reason")
        if reason == "killed" or not definition or not definition.acks_late:
            return None  # one with an early ack that comes again never began
        return TIMED_OUT if reason == TIMED_OUT else None if definition.reject_on_worker_lost else CRASHED

    def record_loss(self, fields, limit, pid, stacks):
        """Of a task that was in hand when its process ended, and that nobody gets again."""
        last_pid, _, last_exit = os.environ.get("WPOOL_LAST_EXIT", "").partition(" ")
        fields["3"]["x-wpool-exit"] = last_exit if last_pid == str(pid) else ""
        message = TaskMessage(Task(fields, Bunch(is_supervisor_gone=False, write=lambda frame: None, flush=lambda: None)), self.accept)
        message.lost = TIMED_OUT if stacks else CRASHED
        if limit:  # which may have been that of remote control
            message.headers["timelimit"] = [int(limit) if limit.is_integer() else limit, None]
        task = f"{message.headers.get('task')}[{message.headers.get('id')}]"
        if stacks:  # Celery logs the error; the main thread is the last one
            where = stacks.rpartition(b"first):\n")[2].partition(b"\n")[0].decode(errors="replace")
            logger.info("wpool_celery: %s was over its hard time limit in %s", task, where.strip())
        else:
            logger.error("wpool_celery: %s has failed: its process ended", task)
        self.handle(message)

    def is_early(self, message):
        """Postpone a task whose eta is to come: Celery sees it when it begins. What is wrong with an eta, Celery says."""
        try:
            fields = message.headers if "task" in message.headers else message.payload  # protocol 2 or 1
            eta = fields.get("eta")
            if not eta or fields["id"] in state.revoked:
                return False
            wait = to_timestamp(maybe_make_aware(maybe_iso8601(eta), self.app.conf.timezone)) - time.monotonic()
        except Exception:
            return False
        return self.waits(message, wait)

    def waits(self, message, seconds):
        if seconds < LATER_MIN:
            message.task._flush()
            time.sleep(max(0, seconds))
            return False
        message.postpone(seconds)
        return True

    def _limit_task(self, request, bucket, tokens):
        """A rate limit is that of all workers. A task that has waited for its turn has it."""
        message = request.message
        had_turn = message.lost or message.waited and (not request.eta or to_timestamp(request.eta) < time.monotonic() - 1)
        if had_turn or not self.waits(message, reserve(self.pool.records, request.task.name, bucket.fill_rate)):
            self._limit_move_to_pool(request)

    _limit_post_eta = _limit_task

    # What Celery drops is kept as a dead letter, with the reason.

    def on_decode_error(self, message, exc):
        super().on_decode_error(message, exc)
        message.refuse(415, f"the body cannot be decoded: {exc!r}")

    def on_unknown_message(self, body, message):
        super().on_unknown_message(body, message)
        message.refuse(400, "no task of Celery: it names no task")

    def on_unknown_task(self, body, message, exc):
        super().on_unknown_task(body, message, exc)
        message.refuse(404, f"the application has no task {exc}")

    def on_invalid_task(self, body, message, exc):
        super().on_invalid_task(body, message, exc)
        message.refuse(400, f"no valid task: {exc}")
