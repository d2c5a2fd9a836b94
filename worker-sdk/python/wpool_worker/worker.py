"""The loop: read a task, write its answer, until the supervisor ends the worker."""

import select
import sys
import traceback

import msgpack

from .answers import Fail, from_result
from .control import Control
from .pipe import Broken, Pipe
from .task import Task


def run(handler):
    """Handle tasks until the supervisor ends the worker or is gone.

    Return the exit status for the process: 0 if the supervisor ended it, 1 after a line on standard
    error that says what went wrong.
    """
    # The supervisor logs lines as they come, so do not buffer them.
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
        # The data pipe is first. poll checks them in this order, so when it reports a task it also
        # reports every control line written before it, and no line can reach the wrong task.
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
        """Return the map of the next task; None if the worker should exit."""
        while (fields := self._pipe.take()) is None:
            if not self._wait() or not self._pipe.read():
                return None
        if not isinstance(fields, dict):
            raise Broken("a frame of the supervisor is not a map")
        return fields

    def _wait(self):
        """Wait until the data pipe has input; False if the worker should exit."""
        while True:
            ready = dict(self._poll.poll())
            if self._control.fd in ready:
                self._control.read()
            if self._control.is_over:
                return False
            if self._pipe.fd in ready:
                return True

    def _work(self, task):
        """Return the frame of the answer. An error of the handler fails only this task."""
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
