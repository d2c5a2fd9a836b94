"""preload(): one process loads what is heavy, and forks the workers (PROTOCOL.md, section 17)."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import Any, Dict, List, NoReturn, Optional

from .errors import Broken, log_error

_MARK = "WPOOL_PRELOAD"
_REQUEST_MAX = 4096
_REASON_MAX = 200
_STREAMS = 3
_PR_SET_PDEATHSIG = 1

_prctl: Any = None  # only in a worker that was forked here


class _BadRequest(Exception):
    """The text says what is wrong."""


def preload() -> None:
    """Call when everything is loaded that the workers are to share. In a pool with `preload` the process stays in this
    call and forks the workers; it returns in each worker. In any other process it returns at once. run() calls it first.

    The preloaded process must not have threads: it prints their names and exits with status 1. Connections and open files
    belong after this call: all workers would share them.
    """
    if _MARK not in os.environ:
        return
    requests = _request_socket()
    _check_threads()
    prctl = _find_prctl()
    _flush()
    # What is here now stays. The collector must not look at it again: that would copy its pages in each worker.
    gc.collect()
    gc.freeze()
    _serve(requests)
    global _prctl
    _prctl = prctl


def die_with_supervisor() -> None:
    """In a worker that preload() forked: let the kernel kill it when the supervisor dies. Call when the address of the data
    pipe has come: before, the parent may be another process. Broken: the supervisor is gone already."""
    if _prctl is None:
        return
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        raise Broken("the supervisor is gone")


# In the preloaded process, before the first request.


def _exit(reason: str) -> NoReturn:
    log_error(f"wpool worker: {reason}, exiting")
    _flush()
    os._exit(1)  # at another end Python would wait for threads


def _request_socket() -> socket.socket:
    try:
        requests = socket.socket(fileno=0)
    except OSError as error:
        _exit(f"{_MARK} is set, and standard input is no socket ({error.strerror}): only wpool serve sets it")
    if requests.type != socket.SOCK_SEQPACKET:
        _exit(f"{_MARK} is set, and standard input is no socket of packets: only wpool serve sets it")
    return requests


def _check_threads() -> None:
    """A fork copies one thread. A lock that another one holds would stay locked in the workers."""
    others = [thread.name for thread in threading.enumerate() if thread is not threading.current_thread()]
    if others:
        _exit(f"cannot fork workers while there are other threads ({', '.join(others)}): start them after preload()")


def _find_prctl() -> Any:
    """Return the function, or None where Python cannot call it."""
    try:
        import ctypes
        return ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):  # it may be closed
                stream.flush()


# Requests.


def _serve(requests: socket.socket) -> None:
    """Answer requests. Return in each worker; at the end of the requests exit."""
    while True:
        fds: List[int] = []
        try:
            packet, fds, flags, _ = socket.recv_fds(requests, _REQUEST_MAX, _STREAMS)
            if not packet and not fds:
                sys.exit(0)
            answer = _fork_worker(_variables(packet, fds, flags), fds)
        except ConnectionResetError:
            sys.exit(0)
        except (_BadRequest, OSError) as error:
            answer = _reason(error)
        if answer is None:
            requests.detach()  # its descriptor is the worker's standard input now
            return
        for fd in fds:
            os.close(fd)
        try:
            requests.send(answer)
        except OSError:  # the supervisor is gone
            sys.exit(0)


def _variables(packet: bytes, fds: List[int], flags: int) -> Dict[str, str]:
    """Return the variables that a request sets."""
    if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC) or len(fds) != _STREAMS:
        raise _BadRequest(f"a request has more than {_REQUEST_MAX} bytes, or not {_STREAMS} descriptors")
    *lines, rest = os.fsdecode(packet).split("\n")
    if rest or not lines:
        raise _BadRequest("a request does not end with an end of line")
    variables = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not name or not equals or "\0" in line:
            raise _BadRequest(f"a line of a request is not NAME=value: {line!r}")
        variables[name] = value
    return variables


def _reason(error: BaseException) -> bytes:
    text = str(error) if isinstance(error, _BadRequest) else f"{type(error).__name__}: {error}"
    return text.encode(errors="replace")[:_REASON_MAX]


def _fork_worker(variables: Dict[str, str], fds: List[int]) -> Optional[bytes]:
    """Fork twice, so that the worker is the supervisor's child. Return its pid, or why there is none; in the worker None."""
    result, report = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(result)
        os.close(report)
        raise
    if child == 0:
        try:
            if os.fork() != 0:
                os._exit(0)
            os.close(result)
            _become_worker(variables, fds)
            os.write(report, str(os.getpid()).encode())
            os.close(report)
            return None
        except BaseException as error:
            _report_and_exit(report, error)
    os.close(report)
    with open(result, "rb") as file:  # its end comes when the worker has closed it, or both have died
        answer = file.read()
    with suppress(ChildProcessError):  # the program ignores SIGCHLD
        os.waitpid(child, 0)
    return answer or b"the new process ended before it was a worker"


# In the new processes.


def _become_worker(variables: Dict[str, str], fds: List[int]) -> None:
    os.setsid()
    # Each fd is above its number and above the one before: they got the lowest free numbers, and 0 was in use.
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.update(variables)
    del os.environ[_MARK]
    signal.set_wakeup_fd(-1)  # that of an event loop in the preloaded process


def _report_and_exit(report: int, error: BaseException) -> NoReturn:
    try:
        os.write(report, _reason(error))
    finally:
        os._exit(1)
