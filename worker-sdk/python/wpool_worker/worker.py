"""The loop: a task in, its answer out, until the supervisor says enough."""

import select
import sys
import traceback

import msgpack

from .answers import Fail, from_result
from .control import Control
from .pipe import Broken, Pipe
from .task import Task


def run(handler):
    """Works tasks until the supervisor ends it or is gone.

    Returns what the process should exit with: 0 when it was told to leave, 1 after one line on
    standard error that says what went wrong.
    """
    # The supervisor logs lines as they come; a full buffer would come too late.
    sys.stdout.reconfigure(line_buffering=True)
    control = Control.on_stdin()
    try:
        address = control.read_address()
        if address is None:
            raise Broken("no address of a data pipe on standard input: "
                         "this program is to be started by wpool serve")
        pipe = _open_pipe(address)
        try:
            _Loop(handler, control, pipe).run()
        finally:
            pipe.close()
    except Broken as error:
        print(f"wpool worker: {error}, exiting", file=sys.stderr)
        return 1
    return 0


def _open_pipe(address):
    try:
        return Pipe(address)
    except OSError as error:
        raise Broken(f"{address}: {error}") from error


class _Loop:
    def __init__(self, handler, control, pipe):
        self._handler = handler
        self._control = control
        self._pipe = pipe
        # The data pipe first: poll looks at them in this order, so when it sees a task it also sees
        # every control line written before that task, and none of them can hit the wrong one.
        self._poll = select.poll()
        self._poll.register(pipe.fd, select.POLLIN)
        self._poll.register(control.fd, select.POLLIN)

    def run(self):
        if self._control.is_over:
            return
        while (fields := self._next_fields()) is not None:
            self._control.begin_task()
            task = Task(fields, self._write, self._control)
            self._write(self._work(task))
            if self._control.is_over:
                return

    def _next_fields(self):
        """The next task's map; None when it is time to leave."""
        while (fields := self._pipe.take()) is None:
            if not self._wait() or not self._pipe.read():
                return None
        if not isinstance(fields, dict):
            raise Broken("a frame of the supervisor is not a map")
        return fields

    def _wait(self):
        """Until the data pipe has something; False when it is time to leave."""
        while True:
            ready = dict(self._poll.poll())
            if self._control.fd in ready:
                self._control.read()
            if self._control.is_over:
                return False
            if self._pipe.fd in ready:
                return True

    def _work(self, task):
        """The answer's frame. Whatever the handler does wrong is a failure of this task alone."""
        try:
            return msgpack.packb(from_result(self._handler(task)).output(task), datetime=True,
                                 unicode_errors="surrogateescape")
        except Broken:
            raise
        except Exception:
            traceback.print_exc()
            return msgpack.packb(Fail().output(task))
        finally:
            task._finish()

    def _write(self, packed):
        try:
            self._pipe.write(packed)
        except OSError as error:
            raise Broken(f"cannot answer: {error}") from error
