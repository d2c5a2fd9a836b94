"""Plays the supervisor for one worker process: what stage.c does, for tests in Python, with ids and several open tasks.
Every wait has a limit, at which the test fails."""

import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import msgpack

PATIENCE = 20.0
ROOT = Path(__file__).resolve().parents[2]


class Stage:
    def __init__(self, *argv, concurrency=1, environment=(), fifos=False, connects=True, worker=None):
        """worker: one that runs, like a Popen; else it is started from the rest."""
        self.folder = Path(tempfile.mkdtemp(prefix="wpool-stage-"))
        self.errors = ""  # what it printed on standard error
        self._received = b""
        self.next_id = 1
        self.worker = worker or subprocess.Popen(
            argv, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "WPOOL_CONCURRENCY": str(concurrency), **dict(environment)})
        os.set_blocking(self.worker.stderr.fileno(), False)
        self._socket, self.answers = None, -1
        try:
            if connects:
                self._open_fifos() if fifos else self._listen()
        except BaseException:
            self.close()
            raise

    def _listen(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "pipe"))
            listener.listen(1)
            self.control(str(self.folder / "pipe"))
            self._wait(listener, select.POLLIN, "for the worker to connect")
            self._socket, _ = listener.accept()
        self.to = self.answers = self._socket.fileno()

    def _open_fifos(self):
        path = str(self.folder / "pipe")
        os.mkfifo(path + ".in")
        os.mkfifo(path + ".out")
        self.answers = os.open(path + ".out", os.O_RDONLY | os.O_NONBLOCK)
        self.control(path)
        self.to = os.open(path + ".in", os.O_WRONLY)  # waits for the worker's open

    def _wait(self, file, events, what):
        poll = select.poll()
        poll.register(file, events)
        if not poll.poll(PATIENCE * 1000):
            raise AssertionError(f"waited too long {what}; its standard error: {self.errors}")

    def close(self):
        """End the worker, however the test went."""
        if self.worker.poll() is None:
            self.worker.kill()
        self.worker.wait()
        for file in (self.worker.stdin, self.worker.stderr):
            file.close()
        self.close_data()
        shutil.rmtree(self.folder)

    # What the supervisor sends.

    def control(self, line):
        os.write(self.worker.stdin.fileno(), line.encode() + b"\n")

    def close_control(self):
        self.worker.stdin.close()

    def end_data(self):
        """End the sending side of the data pipe."""
        if self._socket:
            self._socket.shutdown(socket.SHUT_WR)
        else:
            os.close(self.to)

    def close_data(self):
        if self._socket:
            self._socket.close()
        elif self.answers >= 0:
            os.close(self.answers)
        self.answers = -1

    def frame(self, body, headers=None, has_id=True):
        """Return the frame of a new task, and its id."""
        task_id, self.next_id = self.next_id, self.next_id + 1
        fields = {"0": body, "1": "call-7", "2": "queue", "3": headers or {}}
        if has_id:
            fields["7"] = task_id
        packed = msgpack.packb(fields)
        return struct.pack(">I", len(packed)) + packed, task_id

    def write(self, data):
        data = memoryview(data)
        while data:
            self._wait(self.to, select.POLLOUT, "to write to the worker")
            data = data[os.write(self.to, data[:65536]):]

    def send(self, body, headers=None):
        """Send a task; return its id."""
        frame, task_id = self.frame(body, headers)
        self.write(frame)
        return task_id

    # What the worker sends.

    def _fill(self, size):
        while len(self._received) < size:
            self._wait(self.answers, select.POLLIN, "for the worker's output")
            got = os.read(self.answers, 1 << 20)
            if not got:
                self.read_errors()
                raise AssertionError(f"the worker closed its pipe; its standard error: {self.errors}")
            self._received += got

    def wait_for_answers(self):
        """Wait until the worker's output can be read, without reading it."""
        self._wait(self.answers, select.POLLIN, "for the worker's output")

    def read_map(self):
        """Return the next output as it came."""
        self._fill(4)
        size = 4 + struct.unpack(">I", self._received[:4])[0]
        self._fill(size)
        packed, self._received = self._received[4:size], self._received[size:]
        return msgpack.unpackb(packed, strict_map_key=False)

    def read(self):
        """Return the next output as (id, status, message)."""
        output = self.read_map()
        return output.get("7"), output["1"], output.get("0")

    def read_all(self, count):
        """Return the next outputs, sorted."""
        return sorted(self.read() for _ in range(count))

    def read_errors(self):
        """Read the standard error that is there now; False at its end."""
        try:
            got = os.read(self.worker.stderr.fileno(), 65536)
        except BlockingIOError:
            return True
        self.errors += got.decode()
        return bool(got)

    def wait_for_error(self, text, count=1):
        """Wait until standard error has the text that often."""
        until = time.monotonic() + PATIENCE
        while self.errors.count(text) < count:
            self._wait(self.worker.stderr, select.POLLIN, f"for {text!r}")
            if not self.read_errors() or time.monotonic() > until:
                raise AssertionError(f"no {text!r} in its standard error: {self.errors}")

    def exit_status(self):
        """Wait for the end of the worker."""
        status = self.worker.wait(PATIENCE)
        while True:
            self._wait(self.worker.stderr, select.POLLIN, "for the end of its standard error")
            if not self.read_errors():
                return status


def run_checks():
    """Run the tests of the main module and print the line that tools/run-checks reads."""
    result = unittest.main(exit=False).result
    failures, errors = len(result.failures), len(result.errors)
    passed = result.testsRun - failures - errors
    print(f"{100 * passed // max(1, result.testsRun)}%: Checks: {result.testsRun}, Failures: {failures}, Errors: {errors}")
    sys.exit(0 if 0 < passed == result.testsRun else 1)
