"""What the workers of an application remember in files: the task in hand of each, and when the next task of a limited kind
may begin. The files outlive a kill -9 and are in a folder that only this user can use, below the folder for temporary files."""

import faulthandler
import fcntl
import glob
import hashlib
import os
import stat
import struct
import tempfile
import time

import msgpack
from wpool_worker.errors import log_error

HEAD = struct.Struct(">QBB")  # the length of the task's fields, how often its loss could not be recorded, whether it has a hard limit
START = 16
TRIES_MAX = 3


def prefix_of(*identity):
    """Return the beginning of the paths of the files of those who share this identity."""
    folder = os.path.join(tempfile.gettempdir(), f"wpool-celery-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise OSError(f"{folder} is not a folder that only this user can use; remove it, or set TMPDIR")
    return os.path.join(folder, hashlib.blake2s(repr(identity).encode(), digest_size=8).hexdigest())


def _open(path):
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _open_unused(path):
    """Open and lock it; None if another process has it. The lock ends with this process, and no child of it has it."""
    fd = _open(path)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return fd
    except OSError:
        os.close(fd)
        return None


class Journal:
    """The task in hand, in a file that is this process's as long as it lives."""

    def __init__(self, prefix):
        self._prefix, self._number, self._is_limited = prefix + "-task-", 0, False
        while (fd := _open_unused(f"{self._prefix}{self._number}")) is None:
            self._number += 1
        self._fd = fd
        self._pack = msgpack.Packer(datetime=True, unicode_errors="surrogateescape").pack

    def begin(self, fields, limit):
        """Record the fields of a task. limit: the seconds after which it counts as timed out, or None."""
        packed = self._pack(fields)
        try:
            os.pwrite(self._fd, packed, START)
            if limit:
                self._is_limited = True
                os.ftruncate(self._fd, START + len(packed))
                os.lseek(self._fd, 0, os.SEEK_END)
                # A thread that needs no interpreter: it writes where the task hangs behind its fields, also if C code runs.
                faulthandler.dump_traceback_later(limit, file=self._fd)
            os.pwrite(self._fd, HEAD.pack(len(packed), 0, bool(limit)), 0)
        except OSError as error:
            log_error(f"wpool_celery: if this process dies, nobody will know the task that it had: {error}")

    def end(self):
        if self._is_limited:
            self._is_limited = False
            faulthandler.cancel_dump_traceback_later()
        os.pwrite(self._fd, HEAD.pack(0, 0, 0), 0)

    def record_losses(self, record):
        """Call record(fields, where) for each task that was in hand when its process ended; where: what it was at when it
        timed out, as bytes, or None. A task whose record() ends this process, too, is left alone after a few tries."""
        for path in glob.glob(glob.escape(self._prefix) + "*"):
            is_own = path == f"{self._prefix}{self._number}"
            if (fd := self._fd if is_own else _open_unused(path)) is not None:
                self._record_loss(fd, record)
                if not is_own:
                    os.close(fd)

    def _record_loss(self, fd, record):
        head = os.pread(fd, HEAD.size, 0)
        size, tries, is_limited = HEAD.unpack(head) if len(head) == HEAD.size else (0, 0, 0)
        if size and tries < TRIES_MAX:
            os.pwrite(fd, HEAD.pack(size, tries + 1, is_limited), 0)
            where = os.pread(fd, 1 << 16, START + size) if is_limited else b""
            record(msgpack.unpackb(os.pread(fd, size, START), strict_map_key=False, unicode_errors="surrogateescape"),
                   where or None)
        elif size:
            log_error("wpool_celery: a lost task could not be recorded as failed, and is left alone")
        os.pwrite(fd, HEAD.pack(0, 0, 0), 0)


class Rates:
    """When the next task of each kind may begin: one clock for all workers of the application on this machine."""

    def __init__(self, prefix):
        self._prefix = prefix + "-rate-"

    def reserve(self, kind, rate):
        """Return in how many seconds a task of this kind may begin, and let the next one wait until 1/rate seconds later."""
        fd = _open(self._prefix + hashlib.blake2s(kind.encode(), digest_size=8).hexdigest())
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX)
            read = os.pread(fd, 8, 0)
            now = time.time()
            begin = max(now, struct.unpack("d", read)[0] if len(read) == 8 else 0)
            os.pwrite(fd, struct.pack("d", begin + 1 / rate), 0)
            return begin - now
        finally:
            os.close(fd)
