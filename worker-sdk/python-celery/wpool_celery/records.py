"""What the workers of an application remember in files: the task in hand of each, and when the next task of a limited kind may
begin. They outlive a kill -9, in a folder that only this user can use, below the folder for temporary files."""

import faulthandler
import fcntl
import glob
import hashlib
import mmap
import os
import stat
import struct
import tempfile
import time

import msgpack
from celery.utils.log import get_logger

logger = get_logger(__name__)
# The length of the task's fields; its hard limit, or 0; when it began; the supervisor's pid and its own; how often its loss could
# not be recorded.
HEAD = struct.Struct("=QddiiB")
NO_TASK = HEAD.pack(0, 0, 0, 0, 0, 0)
START = 40  # where the fields begin
SIZE = 1 << 16
TRIES = 30  # some minutes, if the results cannot be stored
FRESH = 10  # seconds in which a loss is left to the next process in its place, which knows how that one ended


def _digest(*values):
    return hashlib.blake2s(repr(values).encode(), digest_size=8).hexdigest()


def prefix_of(*identity):
    """Return the beginning of the paths of the files of those who share this identity."""
    folder = os.path.join(tempfile.gettempdir(), f"wpool-celery-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise OSError(f"{folder} is not a folder that only this user can use: remove it, or set TMPDIR")
    return os.path.join(folder, _digest(*identity))


def _open_locked(path, flags=0):
    """Open it and have it alone, until this process ends or closes it; no child has the lock. None: another one has it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | flags)
        return fd
    except BlockingIOError:
        os.close(fd)


def _head_of(fd):
    return HEAD.unpack(os.pread(fd, HEAD.size, 0).ljust(HEAD.size, b"\0"))


def _is_fresh(path):
    """Of a file that is not this process's: whether the next process in its place will take it. No lock may keep that one away."""
    with open(path, "rb") as file:
        _, _, began, supervisor, _, _ = _head_of(file.fileno())
    return supervisor == os.getppid() and 0 <= time.monotonic() - began < FRESH


class Journal:
    """The task in hand, in a file that is this process's alone. Writing it costs no system call, unless it is large."""

    def __init__(self, prefix):
        self._prefix, number, self._has_limit = prefix + "-task-", 0, False
        place = _digest(os.environ.get("WPOOL_POOL"), os.environ.get("WPOOL_SLOT"))
        while (fd := _open_locked(path := f"{self._prefix}{place}-{number}", fcntl.LOCK_NB)) is None:
            number += 1
        self._fd, self._path = fd, path
        os.posix_fallocate(fd, 0, SIZE)
        self._map = mmap.mmap(fd, SIZE)

    def begin(self, packed, limit):
        """Record a task by its fields, packed. limit: the seconds after which it counts as timed out, or None."""
        if len(packed) <= SIZE - START:
            self._map[START:START + len(packed)] = packed
        else:
            os.pwrite(self._fd, packed, START)
        if limit:
            self._has_limit = True
            os.ftruncate(self._fd, max(START + len(packed), SIZE))
            os.lseek(self._fd, 0, os.SEEK_END)
            # A thread that needs no interpreter: it writes where the task hangs behind its fields, also if C code runs.
            faulthandler.dump_traceback_later(limit, file=self._fd)
        HEAD.pack_into(self._map, 0, len(packed), limit or 0, time.monotonic(), os.getppid(), os.getpid(), 0)

    def end(self):
        if self._has_limit:
            self._has_limit = False
            faulthandler.cancel_dump_traceback_later()
        self._map[:HEAD.size] = NO_TASK

    def record_losses(self, record):
        """Call record(fields, limit, pid, stacks) for each task that was in hand when its process ended. limit: its hard one, or 0.
        stacks: those of its threads when it timed out, or b"". One whose recording ends this process, too, is left alone in the end."""
        for path in glob.glob(glob.escape(self._prefix) + "*"):
            is_own = path == self._path
            if not is_own and _is_fresh(path):
                continue
            fd = self._fd if is_own else _open_locked(path, fcntl.LOCK_NB)
            if fd is None:
                continue
            size, limit, began, supervisor, pid, tries = _head_of(fd)
            if size and tries < TRIES:
                os.pwrite(fd, HEAD.pack(size, limit, began, supervisor, pid, tries + 1), 0)
                stacks = os.pread(fd, SIZE, max(START + size, SIZE)) if limit else b""
                fields = msgpack.unpackb(os.pread(fd, size, START), strict_map_key=False, unicode_errors="surrogateescape")
                record(fields, limit, pid, stacks)
            elif size:
                logger.error("wpool_celery: the failure of a lost task cannot be recorded")
            os.pwrite(fd, NO_TASK, 0)
            if not is_own:
                os.close(fd)


def reserve(prefix, kind, rate):
    """Return in how many seconds a task of this kind may begin. The next one of any worker may 1/rate seconds later."""
    fd = _open_locked(f"{prefix}-rate-{_digest(kind)}")
    now = time.time()
    begin = max(now, *struct.unpack("=d", os.pread(fd, 8, 0) or bytes(8)))
    os.pwrite(fd, struct.pack("=d", begin + 1 / rate), 0)
    os.close(fd)
    return begin - now
