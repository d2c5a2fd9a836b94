"""The control lines on standard input."""

from __future__ import annotations

import os
import select
from typing import Callable, Optional

from .errors import Broken

_LINE_MAX = 4096
CONTEXT_SWITCH = b"__context_switch__"
CANCEL = b"__cancel__"

# Called with CONTEXT_SWITCH or CANCEL and the id of the task that the line names; None: the current one.
OnRequest = Callable[[bytes, Optional[int]], None]


class Control:
    """Reads only when poll reports input, in blocking mode: O_NONBLOCK would also change the other
    holders of this pipe, for example a shell around us."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.closed = False
        self.quit = False
        self.on_request: OnRequest = lambda request, task_id: None
        self._rest = b""
        self._skipping = False  # in the rest of a line that is longer than any control line
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    @classmethod
    def on_stdin(cls) -> Control:
        """Move standard input away and leave /dev/null there: a program that the handler starts
        must not read the control lines."""
        control = cls(os.dup(0))
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        return control

    def read_address(self) -> str:
        """Wait for the first line."""
        while b"\n" not in self._rest and not self.closed and len(self._rest) <= _LINE_MAX:
            self._fill()
        line, newline, self._rest = self._rest.partition(b"\n")
        if not line or not newline:
            raise Broken("no address of a data pipe on standard input: "
                         "this program is to be started by wpool serve")
        self._obey_lines()
        return os.fsdecode(line)

    def read(self) -> None:
        """Read once, after poll reported input, and obey the whole lines."""
        self._fill()
        self._obey_lines()

    def drain(self) -> None:
        """Read everything that is there now."""
        while not self.closed and self._poll.poll(0):
            self.read()

    @property
    def is_over(self) -> bool:
        return self.quit or self.closed

    def _fill(self) -> None:
        try:
            got = os.read(self.fd, _LINE_MAX)
        except OSError:
            got = b""
        self._rest += got
        self.closed = not got

    def _obey_lines(self) -> None:
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            if not self._skipping:
                self._obey(line)
            self._skipping = False
        if len(self._rest) > _LINE_MAX:
            self._skipping = True
            self._rest = b""

    def _obey(self, line: bytes) -> None:
        word, _, task_id = line.partition(b" ")
        if line == b"__quit__":
            self.quit = True
        elif line == CONTEXT_SWITCH:
            self.on_request(CONTEXT_SWITCH, None)
        elif word in (CONTEXT_SWITCH, CANCEL) and task_id.isdigit():
            self.on_request(word, int(task_id))
