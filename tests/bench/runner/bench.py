"""What all measurements share: the broker, the build folder, the options."""

import dataclasses
import itertools
import os
import pathlib
import shutil
import tempfile

from . import Failure
from .node import Node, QueueProbe
from .process import Process

FILL_SECONDS = 300
START_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class Extent:
    """How much is measured."""

    rounds: int  # that count
    seconds: float  # of each measurement
    max_bytes: int  # in a queue at once
    warm_rounds: int = 1  # that do not count; they determine the number of messages
    messages: int = 0  # if not 0: this number in each run, however long it takes


class Bench:
    def __init__(self, build, extent):
        self.build, self.extent, self.seconds = build, extent, extent.seconds
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wpool-bench-out.", dir=os.environ.get("TEST_SCRATCH")))
        self._redis = f"redis+socket://{self.folder}/redis.sock"
        self._serial = itertools.count(1)
        self.node = Node(os.environ.get("WPOOL_TEST_NODE"))
        self.probe = QueueProbe(self.node)

    def close(self):
        self.probe.close()
        self.node.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def argv(self, command):
        """Replace BUILD and URL in a command by the build folder and the address of the broker."""
        return [str(word).replace("BUILD", str(self.build)).replace("URL", self.node.url) for word in command]

    def start(self, name, command, environment=(), stdout_to=None):
        given = {key: value.replace("URL", self.node.url).replace("REDIS", self._redis) for key, value in environment}
        return Process(self.folder, f"{name}-{next(self._serial)}", self.argv(command), given, stdout_to)

    def start_ready(self, name, command, text):
        process = self.start(name, command)
        process.await_stderr(text, START_SECONDS)
        return process

    def start_redis(self):
        """A server that keeps everything in memory, whose address stands for REDIS in environments."""
        return self.start_ready("redis", ("redis-server", "--port", 0, "--unixsocket", self.folder / "redis.sock", "--save", "",
                                          "--logfile", "/dev/stderr"), "ready to accept connections")

    def fill(self, queue, count, size, options=()):
        """Declare a durable queue (quorum, without "--classic"), and publish count messages to it, all confirmed."""
        process = self.start("fill", ["BUILD/bench/fill", *options, "URL", queue, count, size])
        if process.wait(FILL_SECONDS) != 0:
            raise Failure(f"the queue could not be filled: {process.stderr()}")

    def _delete(self, queue):
        self.probe.stop()
        self.probe.delete(queue)
        self.probe.delete(f"{queue}.dead")
        self.probe.delete(f"{queue}.token")

    def delete(self, queue):
        """Delete the queue and its dead letters. A probe that failed is replaced, so that only one measurement fails."""
        try:
            self._delete(queue)
        except Failure as failure:
            print(f"{failure}; starting another one", flush=True)
            self.probe.close()
            self.probe = QueueProbe(self.node)
            self._delete(queue)
