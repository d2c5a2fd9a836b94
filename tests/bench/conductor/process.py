"""Programs that run while the clock runs: started, watched by the kernel's accounts, stopped."""

import os
import pathlib
import re
import signal
import subprocess

from . import Failure
from .node import children, name_of, wait_until

NS_A_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
STOP_SECONDS = 60
SAID_AT_MOST = 600
END_WITH_US = ("setpriv", "--pdeathsig", "KILL")


def thread_cpu_ns(pid, thread):
    """0 for one that is gone."""
    try:
        with open(f"/proc/{pid}/task/{thread}/schedstat") as account:
            return int(account.read().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def cpu_ns(pid):
    """Of all its threads that live."""
    return sum(thread_cpu_ns(pid, thread) for thread in os.listdir(f"/proc/{pid}/task"))


def reaped_cpu_ns(pid):
    """Of its children that have ended and were waited for."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) * NS_A_TICK


def anonymous_kib(pid):
    """RssAnon: memory of its own, without code and without what it shares."""
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Process:
    """Its output goes to files of `folder`, so that it never waits for a reader. Dies with us at the latest."""

    def __init__(self, folder, name, argv, environment=None, stdout_to=None):
        self.name = name
        self._out_path = pathlib.Path(stdout_to or folder / f"{name}.out")
        self._error_path = folder / f"{name}.err"
        # Programs that are measured get nothing from our environment that could change them.
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LC_ALL") if key in os.environ}
        with open(self._out_path, "w") as out, open(self._error_path, "w") as error:
            self._child = subprocess.Popen(
                [*END_WITH_US, *map(str, argv)], stdin=subprocess.DEVNULL, stdout=out, stderr=error,
                env=kept | (environment or {}), start_new_session=True)
        self.pid = self._child.pid

    def said(self):
        return self._error_path.read_text(errors="replace")

    def printed(self):
        return self._out_path.read_text(errors="replace")

    def has_said(self, pattern):
        return bool(re.search(pattern, self.said()))

    def ending(self):
        return self.said()[-SAID_AT_MOST:].strip()

    def check(self):
        if self._child.poll() is not None:
            raise Failure(f"{self.name} ended with {self._child.returncode}: {self.ending()}")

    def await_words(self, pattern, seconds):
        def is_there():
            self.check()
            return self.has_said(pattern)
        try:
            wait_until(is_there, seconds, f"{self.name} says {pattern!r}")
        except Failure as failure:
            raise Failure(f"{failure}: {self.ending()}") from None

    def children(self):
        return children(self.pid)

    def workers(self):
        """Not wpool's guard. Takes longer to find."""
        return [child for child in self.children() if name_of(child) != "wpool"]

    def stop(self):
        """TERM; it must end by itself. Returns its exit status."""
        self._child.send_signal(signal.SIGTERM)
        return self.wait(STOP_SECONDS)

    def stop_and_count(self):
        """Of one that prints at its end how many messages it had."""
        self.stop()
        return int(self.printed())

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
    """Its longest turn, where the process is a supervisor that has ended."""
    found = re.findall(r"longest turn of the loop: ([\d.]+) ms, ([\d.]+) ms of it computing", process.said())
    return {"longest_turn_ms": float(found[-1][0]), "computing_ms": float(found[-1][1])} if found else {}


class Account:
    """CPU time so far: of a contestant's main process, of its workers (those that ended included), of the broker."""

    def __init__(self, process, broker_pid):
        self.supervisor = cpu_ns(process.pid)
        self.broker = cpu_ns(broker_pid)
        # Of one thread each, because for 1,000 this takes time from those who are measured.
        self.workers = reaped_cpu_ns(process.pid) + sum(thread_cpu_ns(pid, pid) for pid in process.children())

    def per_message_us(self, earlier, messages):
        return {part: (getattr(self, part) - getattr(earlier, part)) / 1000 / messages
                for part in ("supervisor", "workers", "broker")}
