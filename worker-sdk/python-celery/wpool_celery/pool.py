"""In place of Celery's process pool: this process. And a task of wpool as a message that Celery settles."""

import gc
import os
import re
import signal
import threading
import time

from billiard.common import human_status
from billiard.einfo import ExceptionInfo
from billiard.util import _run_after_forkers
from celery import platforms, signals
from celery.app.trace import setup_worker_optimizations
from celery.concurrency.base import BasePool
from celery.concurrency.prefork import process_initializer
from celery.exceptions import InvalidTaskError, SoftTimeLimitExceeded, WorkerLostError
from celery.utils.nodenames import NODENAME_DEFAULT, nodename, nodesplit
from celery.worker import state
from kombu.message import Message
from wpool_worker import Done, Postpone, Reject, preload
from wpool_worker.encode import HARD_LIMIT_MAX
from wpool_worker.errors import log_error, log_exception

from .records import Journal

LATER_MIN, LATER_MAX = 0.1, 365 * 86_400.0  # seconds
HARD_LIMIT_MARGIN = 0.1  # seconds; the supervisor ends the process so much after the journal has that the limit is over
CRASHED, TIMED_OUT = "crashed", "timed-out"


def end_process(why, error):
    """As a crash: the task in hand counts as lost."""
    log_exception(why, error)
    os._exit(1)


def celery_exit_text(how):
    """Return how a process ended, of which the supervisor says "signal 9" or "exit status 3"."""
    found = re.search(r"(signal|exit status) (\d+)", how)
    return human_status(int(found[2]) * (-1 if found[1] == "signal" else 1)) if found else "killed, or exited"


class TaskMessage(Message):
    """answer: what its handling has come to. reason: why it becomes a dead letter. lost: how the process ended that had the
    task before and whose end is to be recorded, CRASHED or TIMED_OUT; None: the task is to run."""

    answer = reason = lost = None
    is_beginning = False  # an ack that comes now is Celery's early one

    def __init__(self, task, accept):
        properties, headers = dict(task.properties), task.headers
        properties["correlation_id"] = task.correlation_id or None
        self.task, self.waited = task, "x-wpool-not-before" in headers
        if "x-" in "".join(headers):  # few have any of the supervisor and the broker
            headers = {name: value for name, value in headers.items() if not name.startswith("x-")}
        redelivered = properties.get("redelivered") or properties.get("attempt") != 1 or self.waited and not headers.get("eta")
        super().__init__(
            body=task.body, properties=properties, headers=headers, accept=accept,
            content_type=properties.get("content_type"), content_encoding=properties.get("content_encoding"),
            delivery_info={"exchange": properties.get("exchange"), "routing_key": properties.get("routing_key"),
                           "redelivered": redelivered})

    def ack(self, multiple=False):
        if self.is_beginning and not self.task.session:  # the order of a session could not survive it
            self.task.accept()
        self.answer = Done()

    def ack_log_error(self, logger, errors, multiple=False):
        self.ack()

    def reject_log_error(self, logger, errors, requeue=False):
        if requeue:
            self.postpone(LATER_MIN)
        else:
            self.refuse(406, "the task was rejected")

    def refuse(self, status, reason):
        self.answer, self.reason = Reject(status), reason

    def postpone(self, seconds):
        """Long waits, which may take one percent longer, end a little earlier, to wait for the rest."""
        seconds = min(max(seconds if seconds < 10 else seconds * 0.99, LATER_MIN), LATER_MAX)
        self.answer = Postpone(min(int(seconds * 1000) + 1, int(LATER_MAX * 1000)))


class Pool(BasePool):
    request = None  # of the task in hand, from its begin until its answer is chosen
    has_begun = False  # Celery has found nothing wrong with it
    terminate_by = None  # the signal by which remote control wants the process of a task to end
    records = ""  # the beginning of the paths of its files
    _on_soft = None  # what follows when the soft limit of the running task is over

    def on_start(self):
        """Everything heavy is loaded. Where Celery's own pool forks, a preloaded process does."""
        loader = os.getpid()
        preload()
        if os.getpid() != loader:
            _run_after_forkers()
        name, host = nodesplit(self.options["initargs"][1])
        # Two nodes of one name would share a mailbox, and each would miss what the other one gets.
        names = [name if name != NODENAME_DEFAULT else None, os.environ.get("WPOOL_POOL"), os.environ.get("WPOOL_SLOT", "0")]
        self.hostname = nodename("-".join(filter(None, names)), host)
        platforms.set_pdeathsig = lambda signal: None  # wpool does that, at a time when its supervisor is the parent
        setup_worker_optimizations(self.app, self.hostname)
        process_initializer(self.app, self.hostname)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, self._on_signal)
        self.pid = os.getpid()
        self.lock = threading.Lock()  # held while the task in hand gets its answer
        self.journal = Journal(self.records)
        gc.freeze()  # what is here now stays

    def on_stop(self):
        signals.worker_process_shutdown.send(sender=None, pid=os.getpid(), exitcode=0)

    def apply_async(self, target, args=None, accept_callback=None, timeout_callback=None, callback=None, error_callback=None, **_):
        request, message = accept_callback.__self__, accept_callback.__self__.message
        # Celery has copied the limits of the task: it would not see those that remote control has set.
        hard, soft = request.time_limits
        soft = soft or request.task.soft_time_limit or self.options.get("soft_timeout")
        hard = hard or request.task.time_limit or self.options.get("timeout")
        payload = message.payload if args[4] else args[3]  # a body without content type is decoded
        self._check(request.id, payload, soft, hard)
        self.has_begun = True
        if message.lost:
            return self._record_loss(request, hard)
        if hard:
            hard = min(hard, HARD_LIMIT_MAX - HARD_LIMIT_MARGIN)
            message.task.set_hard_limit(hard + HARD_LIMIT_MARGIN)
        # If nobody gets the task again, the next process has to record its failure.
        if not request.task.acks_late or message.task.attempt >= (message.task.attempts or 1):
            self.journal.begin(message.task._packed, hard)
        self.request, message.is_beginning = request, True
        accept_callback(self.pid, time.monotonic())
        message.is_beginning = False
        if request._already_revoked:  # in this moment
            return self.journal.end()
        message.task._flush()
        # The last two arguments say that it is decoded.
        result = self._call(target, (*args[:3], payload, None, None), soft, timeout_callback)
        self.journal.end()
        (error_callback if isinstance(result, ExceptionInfo) else callback)(result)

    @staticmethod
    def _check(task_id, payload, *limits):
        """Refuse what Celery finds in the middle of the task only."""
        if not isinstance(task_id, str):
            raise InvalidTaskError(f"its id is {task_id!r}")
        for limit in limits:
            if limit is not None and (type(limit) not in (int, float) or not limit > 0):
                raise InvalidTaskError(f"a time limit is a number of seconds above 0, not {limit!r}")
        args, kwargs, embed = payload
        if not isinstance(args, (list, tuple)) or not isinstance(kwargs, dict) or not isinstance(embed or {}, dict):
            raise InvalidTaskError("the body is not a list and two maps")

    def _call(self, target, args, soft, timeout_callback):
        alarm = soft and threading.Timer(soft, self._interrupt)
        self._on_soft = lambda: timeout_callback(True, soft)
        if alarm:
            alarm.daemon = True
            alarm.start()
        try:
            return target(*args)
        except Exception:  # Celery's tracer has let it pass
            return ExceptionInfo()
        except BaseException as error:  # it would end Celery's process
            end_process("the task ended its process", error)
        finally:
            self._on_soft = None
            if alarm:
                alarm.cancel()

    @staticmethod
    def _interrupt():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

    def _on_signal(self, *_):
        if self._on_soft:
            self._on_soft()
            raise SoftTimeLimitExceeded()

    def _record_loss(self, request, hard):
        """Record what Celery's parent process would have. This is the end of the task, also with reject_on_worker_lost."""
        message, task = request.message, request.task
        if message.lost == TIMED_OUT:
            request.on_timeout(False, hard)
            return message.refuse(408, "its hard time limit was over")
        wanted, task.reject_on_worker_lost = task.reject_on_worker_lost, False
        how = celery_exit_text(str(message.task.headers.get("x-wpool-exit")))
        try:
            raise WorkerLostError(f"Worker exited prematurely: {how}.")
        except WorkerLostError:
            request.on_failure(ExceptionInfo())
        finally:
            task.reject_on_worker_lost = wanted
        message.refuse(410, f"its process ended: {how}")

    def terminate_job(self, pid, signum=None):
        """Of revoke(terminate=True), which announces it afterwards."""
        self.terminate_by = signum or signal.SIGTERM

    def end_terminated(self):
        """Of the link's thread: end this process if the task in hand was terminated."""
        with self.lock:
            request = self.request  # and not one that was over when terminate_job() was called for it
            if not self.terminate_by or not request or not (request.id in state.revoked or request._already_revoked):
                return
            if self.terminate_by == signal.SIGUSR1:  # for a soft end, as in Celery
                self.terminate_by = None
                return self._interrupt()
            log_error("wpool_celery: the task was revoked; its process ends")
            self.journal.end()
            request.message.task._answer_last()
            os.kill(self.pid, self.terminate_by)
            os._exit(1)
