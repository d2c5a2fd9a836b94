"""A task of wpool as a message of kombu, and the answer that Celery's treatment of it becomes."""

from kombu.message import Message
from wpool_worker import Done, Postpone, Reject

LATER_MAX = 365 * 86_400.0  # seconds
LATER_MIN = 0.1
CRASHED, TIMED_OUT = "crashed", "timed-out"
# Headers of the broker and of the supervisor, which are not the sender's.
FOREIGN = ("x-wpool-", "x-death", "x-first-death-", "x-last-death-", "x-delivery-count", "x-acquired-count")


class TaskMessage(Message):
    """answer: what its handling has come to; None: nothing yet. reason: why it becomes a dead letter. lost: how the process
    ended that had this task before and whose end is to be recorded, CRASHED or TIMED_OUT; None: run the task. lost_by: that end
    as the supervisor names it."""

    answer = None
    reason = None
    lost = None
    lost_by = "it was killed, or exited"
    is_beginning = False  # an ack that comes now is Celery's early one

    def __init__(self, task, accept):
        properties = dict(task.properties)
        if task.correlation_id:
            properties["correlation_id"] = task.correlation_id
        self.task = task
        self.waited = "x-wpool-not-before" in task.headers
        redelivered = properties.get("redelivered", False) or properties.get("attempt", 1) != 1
        super().__init__(
            body=task.body, properties=properties, accept=accept, content_type=properties.get("content_type"),
            headers={name: value for name, value in task.headers.items() if not name.startswith(FOREIGN)},
            content_encoding=properties.get("content_encoding"),
            delivery_info={"exchange": properties.get("exchange"), "routing_key": properties.get("routing_key"),
                           "redelivered": redelivered})

    def ack(self, multiple=False):
        if self.is_beginning and not self.task.session:  # with sessions wpool keeps the order, and accepts nothing
            self.task.accept()
        self.answer = Done()

    def ack_log_error(self, logger, errors, multiple=False):
        self.ack()

    def reject(self, requeue=False):
        self.answer = Postpone(int(LATER_MIN * 1000)) if requeue else None
        if not requeue:
            self.refuse(406, "the task was rejected")

    def reject_log_error(self, logger, errors, requeue=False):
        self.reject(requeue)

    def refuse(self, status, reason):
        """Make a dead letter of it."""
        self.answer, self.reason = Reject(status), reason

    def postpone(self, seconds):
        """Have it come back then. What waits for long comes back a little earlier, to wait for the rest: a wait may take
        one percent longer."""
        seconds = min(seconds if seconds < 10 else seconds * 0.99, LATER_MAX)
        self.answer = Postpone(max(int(seconds * 1000) + 1, int(LATER_MIN * 1000)))
