"""The frames on their way to the supervisor, in an event loop."""

from __future__ import annotations

import asyncio
import os
from typing import Awaitable, Callable, Generator, List, Optional

# More than this waits for the supervisor to read: no new task begins, and progress waits.
HIGH_WATER = 1 << 20


class _Nothing:
    """What need not be waited for, and may be left without `await`."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class _Turn:
    """What waits for the next turn of the loop, and may be left without `await`."""

    def __await__(self) -> Generator[None, None, None]:
        yield


_NOTHING = _Nothing()
_TURN = _Turn()


class AsyncOutput:
    """Collects the frames of one turn of the loop and writes them together. Never blocks."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, on_error: Callable[[OSError], None],
                 on_drained: Callable[[], None]) -> None:
        """on_drained: called when all that waited is written."""
        self._loop = loop
        self._fd = fd
        self._on_error = on_error
        self._on_drained = on_drained
        self._frames: List[bytes] = []  # of this turn
        self._rest = memoryview(b"")  # what the pipe did not take
        self._size = 0
        self._is_flushing = False  # a flush is due, or waits for the pipe
        self._is_closed = False
        self._drained: Optional[asyncio.Future[None]] = None

    @property
    def is_empty(self) -> bool:
        return self._size == 0

    @property
    def is_full(self) -> bool:
        return self._size > HIGH_WATER

    def close(self) -> None:
        """Drop what is not written and what is still sent. From now on the descriptor may be another file's."""
        if not self._is_closed:
            self._is_closed = True
            self._loop.remove_writer(self._fd)
            self._frames.clear()
            self._rest = memoryview(b"")
            self._size = 0
            self._end_wait()

    def send(self, frame: bytes) -> Awaitable[None]:
        if self._is_closed:
            return _TURN  # a handler that does nothing but this gets its CancelledError there
        self._frames.append(frame)
        self._size += len(frame)
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self.flush)
        return self._wait_until_drained() if self.is_full else _NOTHING

    def _wait_until_drained(self) -> Awaitable[None]:
        if self._drained is None:
            self._drained = self._loop.create_future()
        return asyncio.shield(self._drained)

    def flush(self) -> None:
        """Write what the pipe takes now."""
        if self._rest or self._is_closed:
            return  # _go_on() writes the frames, too
        was_full = self.is_full
        self._rest = memoryview(self._frames[0] if len(self._frames) == 1 else b"".join(self._frames))
        self._frames.clear()
        self._is_flushing = False
        self._write()
        if self._rest:
            self._is_flushing = True
            self._loop.add_writer(self._fd, self._go_on)
        elif was_full and not self._is_closed:
            self._notify_drained()

    def _write(self) -> None:
        try:
            while self._rest:
                done = os.write(self._fd, self._rest)
                self._rest = self._rest[done:]
                self._size -= done
        except BlockingIOError:
            pass
        except OSError as error:
            self.close()
            self._on_error(error)

    def _go_on(self) -> None:
        self._write()
        if self._rest or self._is_closed:
            return
        self._loop.remove_writer(self._fd)
        self.flush()
        if not self._rest and not self._is_closed:
            self._notify_drained()

    def _notify_drained(self) -> None:
        self._end_wait()
        self._on_drained()

    def _end_wait(self) -> None:
        if self._drained is not None:
            self._drained.set_result(None)
            self._drained = None
