"""The private broker, and the probe in it."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from . import Failure

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "tests/broker/node"
QUEUE_PROBE = pathlib.Path(__file__).resolve().parent.parent / "queue_probe.erl"
SILENCE_SECONDS = 60


class Node:
    """Started here, and stopped by close; or the one in the folder given, which is somebody else's."""

    def __init__(self, given=None):
        self.folder = pathlib.Path(given or tempfile.mkdtemp(prefix="wpool-bench."))
        self._is_ours = not given
        if self._is_ours:
            self.folder.chmod(0o755)
            self._call("start", "--owner", str(os.getpid()))
        facts = dict(line.split("=", 1) for line in (self.folder / "env").read_text().splitlines())
        self.url = facts["AMQP_URL"]
        self.pid = self._find_machine()
        self.release = self.evaluate("rabbit_misc:version()").strip('"')

    def _call(self, verb, *arguments):
        run = subprocess.run([SCRIPT, verb, self.folder, *arguments], stdout=subprocess.PIPE, text=True,
                             cwd=ROOT)
        if run.returncode != 0:
            raise Failure(f"tests/broker/node {verb} ended with {run.returncode}")
        return run.stdout

    def _find_machine(self):
        """The Erlang machine's process: the one that was started, or one below it."""
        first = int((self.folder / "run/broker").read_text().split()[0])
        for pid in [first, *descendants(first)]:
            if name_of(pid) == "beam.smp":
                return pid
        return first

    def evaluate(self, expression):
        answer = self._call("eval", expression).strip()
        return answer.removeprefix("{ok, ").removesuffix("}")

    def close(self):
        if self._is_ours:
            self._call("stop")
            shutil.rmtree(self.folder, ignore_errors=True)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return list(map(int, file.read().split()))
    except FileNotFoundError:
        return []


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


class QueueProbe:
    """Reads how many messages of a queue are not yet settled: see queue_probe.erl."""

    def __init__(self, node):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            node.evaluate(QUEUE_PROBE.read_text().replace("PORT", str(port)))
            server.settimeout(SILENCE_SECONDS)
            self._socket, _ = server.accept()
        self._socket.settimeout(SILENCE_SECONDS)
        self._lines = self._socket.makefile("r")

    def _send(self, *text):
        try:
            self._socket.sendall((" ".join(text) + "\n").encode())
        except OSError as error:
            raise Failure(f"the broker's probe: {error}") from None

    def _receive(self):
        try:
            line = self._lines.readline()
        except OSError as error:
            raise Failure(f"the broker's probe: {error}") from None
        if not line or line.startswith("failed "):
            raise Failure(f"the broker's probe has ended: {line.strip() or 'no message'}")
        return line

    def watch(self, queue):
        self._send("watch", queue)

    def samples(self):
        """(microseconds of the broker's clock, messages left), without end."""
        while True:
            yield tuple(map(int, self._receive().split()))

    def stop(self):
        self._send("stop")
        while self._receive() != "stopped\n":
            pass

    def delete(self, queue):
        self._send("delete", queue)
        while self._receive() != "deleted\n":
            pass

    def close(self):
        self._socket.close()


def wait_until(is_true, seconds, what):
    """Poll for what sends no event."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise Failure(f"not in {seconds} s: {what}")
        time.sleep(0.005)
