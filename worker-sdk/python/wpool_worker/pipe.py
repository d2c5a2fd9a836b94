"""The data pipe in its three forms."""

from __future__ import annotations

import os
import socket
import stat
import threading

from .errors import Broken


def _connect(path: str) -> tuple[int, int]:
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        unix.connect(path)
    except BaseException:
        unix.close()
        raise
    fd = unix.detach()
    return fd, fd


def _open_fifo(name: str, mode: int) -> int:
    fd = os.open(name, mode | os.O_NONBLOCK)
    os.set_blocking(fd, True)
    return fd


def _open_fifos(path: str) -> tuple[int, int]:
    """The order is part of the protocol (PROTOCOL.md, section 3). No open blocks, because it would
    never return if the supervisor is gone. Until it opens P.in for writing, poll reports nothing."""
    into = _open_fifo(path + ".in", os.O_RDONLY)
    try:
        return into, _open_fifo(path + ".out", os.O_WRONLY)
    except BaseException:
        os.close(into)
        raise


def _has_fifos(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path + ".in").st_mode)
    except OSError:
        return False


def _open(address: str) -> tuple[int, int]:
    if not address.startswith("/"):
        return _connect("/tmp/CoreFxPipe_" + address)
    return _open_fifos(address) if _has_fifos(address) else _connect(address)


class Pipe:
    """The two ends of the data pipe: fd to read, out_fd to write; one socket may be both."""

    def __init__(self, address: str) -> None:
        """address: an absolute path of a socket; an absolute path P where P.in and P.out are FIFOs;
        or a bare name N for the socket /tmp/CoreFxPipe_N."""
        self._write_lock = threading.Lock()
        self._held = b""
        try:
            self.fd, self.out_fd = _open(address)
        except OSError as error:
            raise Broken(f"{address}: {error}") from error

    def close(self) -> None:
        os.close(self.fd)
        if self.out_fd != self.fd:
            os.close(self.out_fd)

    def set_blocking(self, blocking: bool) -> None:
        os.set_blocking(self.fd, blocking)
        os.set_blocking(self.out_fd, blocking)

    def read(self, size: int) -> bytes:
        """Read what is there, at most size bytes; b"" at the end of the pipe."""
        try:
            return os.read(self.fd, size)
        except ConnectionResetError:
            return b""

    def hold(self, frame: bytes) -> None:
        """Keep one whole frame: the next write writes it first, in the same system call."""
        with self._write_lock:
            self._held += frame

    @property
    def holds(self) -> bool:
        """Whether something is held."""
        return bool(self._held)

    def flush(self) -> None:
        """Write what is held."""
        if self._held:
            self.write(b"")

    def write(self, frame: bytes) -> None:
        """Write one whole frame; in blocking mode, from any thread."""
        try:
            with self._write_lock:
                if self._held:
                    frame, self._held = self._held + frame, b""
                done = os.write(self.out_fd, frame)
                if done < len(frame):
                    rest = memoryview(frame)[done:]
                    while rest:
                        rest = rest[os.write(self.out_fd, rest):]
        except OSError as error:
            raise Broken(f"cannot answer: {error}") from error
