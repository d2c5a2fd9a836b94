"""The data pipe in its three forms, and the frames on it."""

import os
import socket
import stat

import msgpack

_LENGTH_BYTES = 4
_READ_USUAL = 64 << 10
_READ_LARGE = 1 << 20
# Workers do not know the pool's max_frame; this only refuses impossible lengths.
_LENGTH_MAX = 1 << 30


class Broken(Exception):
    """The pipe cannot be used any more; the text says why."""


def _connect(path):
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        unix.connect(path)
    except BaseException:
        unix.close()
        raise
    fd = unix.detach()
    return fd, fd


def _open_fifo(name, mode):
    fd = os.open(name, mode | os.O_NONBLOCK)
    os.set_blocking(fd, True)
    return fd


def _open_fifos(path):
    """The order is part of the protocol (PROTOCOL.md, section 3). No open blocks, because it would
    never return if the supervisor is gone. Until it opens P.in for writing, poll reports nothing."""
    into = _open_fifo(path + ".in", os.O_RDONLY)
    try:
        return into, _open_fifo(path + ".out", os.O_WRONLY)
    except BaseException:
        os.close(into)
        raise


def _has_fifos(path):
    try:
        return stat.S_ISFIFO(os.stat(path + ".in").st_mode)
    except OSError:
        return False


def _open(address):
    if not address.startswith("/"):
        return _connect("/tmp/CoreFxPipe_" + address)
    return _open_fifos(address) if _has_fifos(address) else _connect(address)


class Pipe:
    def __init__(self, address):
        """address: an absolute path of a socket; an absolute path P where P.in and P.out are FIFOs;
        or a bare name N for the socket /tmp/CoreFxPipe_N."""
        self.fd, self._out = _open(address)
        self._bytes = bytearray()

    def close(self):
        os.close(self.fd)
        if self._out != self.fd:
            os.close(self._out)

    def _length(self):
        length = int.from_bytes(self._bytes[:_LENGTH_BYTES], "big")
        if not 0 < length <= _LENGTH_MAX:
            raise Broken(f"a frame of the supervisor has an impossible length, {length}")
        return length

    def _missing(self):
        """How many bytes of the next frame are still missing."""
        have = len(self._bytes)
        if have < _LENGTH_BYTES:
            return _LENGTH_BYTES - have
        return max(0, _LENGTH_BYTES + self._length() - have)

    def take(self):
        """Return the object of the next frame, or None while it is incomplete."""
        if self._missing():
            return None
        end = _LENGTH_BYTES + self._length()
        frame = bytes(memoryview(self._bytes)[_LENGTH_BYTES:end])
        del self._bytes[:end]
        try:
            return msgpack.unpackb(frame, strict_map_key=False, unicode_errors="surrogateescape")
        except (ValueError, msgpack.UnpackException) as error:
            raise Broken(f"a frame of the supervisor cannot be decoded: {error!r}") from error

    def read(self):
        """Read what is there; False at the end of the pipe."""
        size = min(max(self._missing(), _READ_USUAL), _READ_LARGE)
        try:
            got = os.read(self.fd, size)
        except ConnectionResetError:
            return False
        if not got and self._bytes:
            raise Broken("the data pipe ended in the middle of a frame")
        self._bytes += got
        return bool(got)

    def write(self, packed):
        """Write one whole frame."""
        rest = memoryview(len(packed).to_bytes(_LENGTH_BYTES, "big") + packed)
        while rest:
            rest = rest[os.write(self._out, rest):]
