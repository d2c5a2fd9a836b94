"""The process pool of Celery's worker: this process."""

import os
import signal
import threading
import time

from billiard.einfo import ExceptionInfo
from billiard.util import _run_after_forkers
from celery import signals
from celery.concurrency.base import BasePool
from celery.concurrency.prefork import process_initializer
from celery.exceptions import InvalidTaskError, SoftTimeLimitExceeded, WorkerLostError
from celery.utils.timer2 import Timer as TimerThread
from wpool_worker import Done
from wpool_worker.encode import HARD_LIMIT_MAX, answer_frame
from wpool_worker.errors import log_error

from .message import CRASHED, LATER_MIN, TIMED_OUT
from .records import Journal

# How much later than the journal the supervisor learns that a task is over its hard limit: then the reason is written down.
HARD_LIMIT_MARGIN = 0.1


class Timer(TimerThread):
    """What Celery would hold in its memory until then waits in the broker. Short waits are waited here."""

    def call_at(self, eta, fun, args=(), kwargs=None, priority=0):
        wait = eta - time.monotonic()  # kombu's times are of this clock
        if wait >= LATER_MIN:
            args[0].message.postpone(wait)
        else:
            time.sleep(max(0, wait))
            fun(*args)

    def stop(self):
        """It is a daemon: nothing waits for its end."""


def _check_limits(*limits):
    for limit in limits:
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit >= 0):
            raise InvalidTaskError(f"a time limit is a number of seconds, not {limit!r}")


def _check_shape(request):
    args, kwargs, embed = request._payload
    if not isinstance(args, (list, tuple)) or not isinstance(kwargs, dict) or not isinstance(embed, (dict, type(None))):
        raise InvalidTaskError("the body is not a list of arguments, a map of arguments and a map of what follows")


class Pool(BasePool):
    task = None  # the task in hand of wpool, until its answer is chosen
    has_begun = False  # Celery has found nothing wrong with it
    is_interruptible = False
    terminated = None  # the signal with which remote control wants this process to end
    records = None  # the beginning of the paths of its files

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.lock = threading.Lock()  # held while the task in hand gets its answer

    def on_start(self):
        """All that is heavy is loaded and shared. Here Celery's own pool would fork."""
        loaded_by = os.getpid()
        # preload() of wpool_worker goes here.
        if os.getpid() != loaded_by:
            _run_after_forkers()
        process_initializer(self.app, self.options["initargs"][1])
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, self._interrupt)
        self.journal = Journal(self.records)

    def on_stop(self):
        signals.worker_process_shutdown.send(sender=None, pid=os.getpid(), exitcode=0)

    def _get_info(self):
        return {"max-concurrency": 1, "processes": [os.getpid()], "max-tasks-per-child": "N/A",
                "timeouts": (self.options.get("soft_timeout") or 0, self.options.get("timeout") or 0)}

    def apply_async(self, target, args=None, accept_callback=None, timeout_callback=None, callback=None, error_callback=None,
                    soft_timeout=None, timeout=None, **_):
        request = accept_callback.__self__
        message = request.message
        soft = soft_timeout or self.options.get("soft_timeout")
        hard = timeout or self.options.get("timeout")
        _check_limits(soft, hard)
        _check_shape(request)
        self.has_begun = True
        if message.lost:
            return self._record_loss(request, hard)
        self._begin(request, hard)
        if self.terminated is None:  # nobody revoked it before it began
            result = self._call(target, args, soft, timeout_callback)
            self.journal.end()
            callback(result)

    def _begin(self, request, hard):
        message = request.message
        if hard:
            message.task.set_hard_limit(min(hard + HARD_LIMIT_MARGIN, HARD_LIMIT_MAX))
        # Nobody will get the task again: the next process has to record its failure.
        if not request.task.acks_late or message.task.attempt >= (message.task.attempts or 1):
            self.journal.begin(message.task._fields, hard)
        message.is_beginning = True
        request.on_accepted(os.getpid(), time.monotonic())
        message.is_beginning = False

    def _call(self, target, args, soft, timeout_callback):
        alarm = None
        if soft:
            self._on_soft = lambda: timeout_callback(True, soft)
            alarm = threading.Timer(soft, self.interrupt)
            alarm.daemon = True
            alarm.start()
        self.is_interruptible = True
        try:
            return target(*args)
        except BaseException as error:
            # Celery's tracer lets nothing pass that its processes would survive.
            raise SystemExit(f"the task ended its process: {error!r}") from error
        finally:
            self.is_interruptible, self._on_soft = False, None
            if alarm:
                alarm.cancel()

    _on_soft = None

    def interrupt(self):
        """Of any thread: raise SoftTimeLimitExceeded in the task in hand."""
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

    def _interrupt(self, *_):
        if self.is_interruptible:
            if self._on_soft:
                self._on_soft()
            raise SoftTimeLimitExceeded()

    def _record_loss(self, request, hard):
        """Record what Celery's parent process would have recorded. It is the end of the task also with
        reject_on_worker_lost: for that, wpool has tried it as often as it may be."""
        message, task = request.message, request.task
        if message.lost == TIMED_OUT:
            request.on_timeout(False, hard)
            message.refuse(408, "its hard time limit was over")
            return
        wanted, task.reject_on_worker_lost = task.reject_on_worker_lost, False
        try:
            raise WorkerLostError(f"Worker exited prematurely: {message.lost_by}.")
        except WorkerLostError:
            request.on_failure(ExceptionInfo())
        finally:
            task.reject_on_worker_lost = wanted
        message.refuse(410, f"its process ended: {message.lost_by}")

    def terminate_job(self, pid, signal_number=None):
        """revoke(terminate=True): Celery announces it after this call, and then the link ends this process."""
        if signal_number == signal.SIGUSR1:
            self.interrupt()
        else:
            self.terminated = signal_number or signal.SIGTERM

    def end_terminated(self):
        """Of the link's thread: end this process if the task in hand was terminated."""
        with self.lock:
            if self.terminated is not None and self.task is not None:
                log_error("wpool_celery: the task was revoked, and this process ends")
                self.journal.end()
                self.task._send(answer_frame(Done(), self.task))
                self.on_terminate()
                os.kill(os.getpid(), self.terminated)
                os._exit(1)
            self.terminated = None
