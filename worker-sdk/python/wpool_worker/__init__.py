"""A worker process for wpool, in Python.

    import sys
    from wpool_worker import Reject, run

    def handle(task):
        if not task.body:
            return Reject()
        return task.text.upper()  # goes to the message's reply_to

    sys.exit(run(handle))

What the handler returns is the task's answer: None or Done(), a str, bytes or Reply(), Reject(),
Fail(), HandBack(). An exception fails the task (500); its traceback goes to standard error, which the
supervisor logs, as it does with standard output. The protocol is worker-sdk/PROTOCOL.md.
"""

from .answers import Done, Fail, HandBack, Reject, Reply
from .task import Task
from .worker import run

__all__ = ["Done", "Fail", "HandBack", "Reject", "Reply", "Task", "run"]
