"""The control lines on standard input."""

import os
import select

_LINE_MAX = 4096


class Control:
    """Reads only when poll reports input, in blocking mode: O_NONBLOCK would also change the other
    holders of this pipe, for example a shell around us."""

    def __init__(self, fd):
        self.fd = fd
        self.closed = False
        self.quit = False
        self.interrupted = False  # __context_switch__ since begin_task
        self._rest = b""
        self._skipping = False  # in the rest of a line that is longer than any control line

    @classmethod
    def on_stdin(cls):
        """Move standard input away and leave /dev/null there: a program that the handler starts
        must not read the control lines."""
        control = cls(os.dup(0))
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        return control

    def read_address(self):
        """Wait for the first line; None if there is none."""
        while b"\n" not in self._rest:
            if self.closed or len(self._rest) > _LINE_MAX:
                return None
            self._fill()
        line, self._rest = self._rest.split(b"\n", 1)
        self._obey_lines()
        return os.fsdecode(line) or None

    def read(self):
        """Read once, after poll reported input, and handle the whole lines."""
        self._fill()
        self._obey_lines()

    def drain(self):
        """Read everything that is there now."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        while not self.closed and poll.poll(0):
            self.read()

    def begin_task(self):
        """Forget an interruption: it was for the previous task."""
        self.interrupted = False

    @property
    def is_over(self):
        return self.quit or self.closed

    @property
    def wants_stop(self):
        """Whether the current task should save its state and answer."""
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
