"""Measured programs: started, observed through /proc, stopped."""

import os
import pathlib
import re
import signal
import subprocess

from . import Failure
from .node import children, name_of, wait_until

NS_A_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
STOP_SECONDS = 60
STDERR_TAIL = 600
FEW_CHILDREN = 16
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")


def thread_cpu_ns(pid, thread):
    """0: the thread has ended."""
    try:
        with open(f"/proc/{pid}/task/{thread}/schedstat") as account:
            return int(account.read().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def cpu_ns(pid):
    """Of all its running threads; 0: it has ended."""
    try:
        return sum(thread_cpu_ns(pid, thread) for thread in os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return 0


def reaped_cpu_ns(pid):
    """Of its children that have ended and were waited for."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) * NS_A_TICK


def anonymous_kib(pid):
    """RssAnon: private memory, without code and shared memory."""
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Process:
    """Its output goes to files in `folder`, so that it never waits for a reader. The kernel kills it if we die."""

    def __init__(self, folder, name, argv, environment=None, stdout_to=None):
        self.name = name
        self._out_path = pathlib.Path(stdout_to or folder / f"{name}.out")
        self._error_path = folder / f"{name}.err"
        # Our environment must not change what is measured.
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LC_ALL") if key in os.environ}
        with open(self._out_path, "w") as out, open(self._error_path, "w") as error:
            self._child = subprocess.Popen(
                [*DIE_WITH_PARENT, *map(str, argv)], stdin=subprocess.DEVNULL, stdout=out, stderr=error,
                env=kept | (environment or {}), start_new_session=True)
        self.pid = self._child.pid

    def stderr(self):
        return self._error_path.read_text(errors="replace")

    def stdout(self):
        return self._out_path.read_text(errors="replace")

    def has_in_stderr(self, pattern):
        return bool(re.search(pattern, self.stderr()))

    def stderr_tail(self):
        return self.stderr()[-STDERR_TAIL:].strip()

    def check(self):
        if self._child.poll() is not None:
            raise Failure(f"{self.name} ended with {self._child.returncode}: {self.stderr_tail()}")

    def await_stderr(self, pattern, seconds):
        def is_there():
            self.check()
            return self.has_in_stderr(pattern)
        try:
            wait_until(is_there, seconds, f"{self.name} prints {pattern!r}")
        except Failure as failure:
            raise Failure(f"{failure}: {self.stderr_tail()}") from None

    def children(self):
        return children(self.pid)

    def workers(self):
        """Its children without the guard of wpool. Slower than children()."""
        return [child for child in self.children() if name_of(child) != "wpool"]

    def stop(self):
        """Send SIGTERM, and wait for the end. Return the exit status."""
        self._child.send_signal(signal.SIGTERM)
        return self.wait(STOP_SECONDS)

    def stop_at_once(self):
        """Send a supervisor SIGTERM twice: it waits for nothing."""
        self._child.send_signal(signal.SIGTERM)
        self.await_stderr("draining", STOP_SECONDS)
        return self.stop()

    def stop_and_count(self):
        """For a program that prints its number of messages at the end."""
        self.stop()
        return int(self.stdout())

    def wait(self, seconds):
        try:
            return self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure(f"{self.name} has not ended in {seconds} s") from None

    def kill(self):
        if self._child.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
            self._child.wait()


def turn_facts(process):
    """The longest turn of the loop of a supervisor that has ended; {} for other processes."""
    found = re.findall(r"longest turn of the loop: ([\d.]+) ms, ([\d.]+) ms of it computing", process.stderr())
    return {"longest_turn_ms": float(found[-1][0]), "computing_ms": float(found[-1][1])} if found else {}


class Account:
    """CPU time so far: of a contestant's main process, of its workers (those that ended included), of the broker."""

    def __init__(self, process, broker_pid):
        self.supervisor = cpu_ns(process.pid)
        self.broker = cpu_ns(broker_pid)
        children = process.children()
        # Of one thread each where there are many: for 1,000 processes, reading all would disturb the measurement.
        one_cpu_ns = cpu_ns if len(children) <= FEW_CHILDREN else (lambda pid: thread_cpu_ns(pid, pid))
        self.workers = reaped_cpu_ns(process.pid) + sum(map(one_cpu_ns, children))

    def per_message_us(self, earlier, messages):
        return {part: (getattr(self, part) - getattr(earlier, part)) / 1000 / messages
                for part in ("supervisor", "workers", "broker")}
