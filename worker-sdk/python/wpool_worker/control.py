"""The control lines that come on standard input."""

import os
import select

_LINE_MAX = 4096


class Control:
    """Reads only after poll said so, in blocking mode: O_NONBLOCK would be shared with whoever
    else holds this pipe, a shell around us for one."""

    def __init__(self, fd):
        self.fd = fd
        self.closed = False
        self.quit = False
        self.interrupted = False  # __context_switch__ since begin_task
        self._rest = b""
        self._skipping = False  # in the rest of a line too long to be one of ours

    @classmethod
    def on_stdin(cls):
        """Takes standard input for itself and leaves /dev/null there: a program that the handler
        starts must not read our lines."""
        control = cls(os.dup(0))
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        return control

    def read_address(self):
        """Waits for the first line; None when there is none."""
        while b"\n" not in self._rest:
            if self.closed or len(self._rest) > _LINE_MAX:
                return None
            self._fill()
        line, self._rest = self._rest.split(b"\n", 1)
        self._obey_lines()
        return os.fsdecode(line) or None

    def read(self):
        """Reads once, because poll said that it can be done without waiting, and obeys."""
        self._fill()
        self._obey_lines()

    def drain(self):
        """Reads all that is there now."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        while not self.closed and poll.poll(0):
            self.read()

    def begin_task(self):
        """An interruption meant the task before; forget it."""
        self.interrupted = False

    @property
    def is_over(self):
        return self.quit or self.closed

    @property
    def wants_stop(self):
        """Whether the task in hand should save its state and answer."""
        return self.interrupted or self.closed

    def _fill(self):
        try:
            got = os.read(self.fd, _LINE_MAX)
        except OSError:
            got = b""
        self._rest += got
        self.closed = not got

    def _obey_lines(self):
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            if not self._skipping:
                self._obey(line)
            self._skipping = False
        if len(self._rest) > _LINE_MAX:
            self._skipping = True
            self._rest = b""

    def _obey(self, line):
        if line == b"__quit__":
            self.quit = True
        elif line == b"__context_switch__":
            self.interrupted = True
