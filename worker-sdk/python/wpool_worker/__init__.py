"""A worker process for wpool, in Python.

    import sys
    from wpool_worker import Reject, run

    def handle(task):
        if not task.body:
            return Reject()
        return task.text.upper()  # goes to the message's reply_to

    sys.exit(run(handle))

What the handler returns is the task's answer: None or Done(), a str, bytes or Reply(), Reject(),
Fail(), HandBack(), Postpone(). An exception fails the task (500); its stack goes to standard error, which the
supervisor logs, as it does with standard output. The protocol is worker-sdk/PROTOCOL.md.

An `async def` handler gets an AsyncTask, a plain one a Task. In a pool with `concurrency` above 1 several tasks
are handled at once: async ones in one event loop, plain ones in threads, so these must be safe for threads.
run() says more.

In a pool with `preload` one process loads the program and forks the workers, in run(). What comes before run() is then
done once, and its memory is shared: load what is heavy there, and open connections later. preload() says more.
"""

from .answers import Answer, Done, Fail, HandBack, Postpone, Reject, Reply, Result
from .async_task import AsyncTask
from .plain_task import Task
from .preload import preload
from .worker import run

__all__ = ["Answer", "AsyncTask", "Done", "Fail", "HandBack", "Postpone", "Reject", "Reply", "Result", "Task", "preload", "run"]
