"""What all that is measured shares: the broker, the folder of what was built, the wishes of who called."""

import dataclasses
import itertools
import os
import pathlib
import shutil
import tempfile

from . import Failure
from .node import Node, Referee
from .process import Process

FILL_SECONDS = 300
START_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class Extent:
    """How much is measured."""

    rounds: int  # that count
    seconds: float  # for which the clock runs
    most_bytes: int  # in a queue at once
    warm_rounds: int = 1  # that do not count: from them it is known how many messages those seconds take
    messages: int = 0  # if not 0: so many in each run, however long they take, or however short


class Bench:
    def __init__(self, build, extent):
        self.build, self.extent, self.seconds = build, extent, extent.seconds
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wpool-bench-out.", dir=os.environ.get("WPOOL_TEST_SCRATCH")))
        self._serial = itertools.count(1)
        self.node = Node(os.environ.get("WPOOL_TEST_NODE"))
        self.referee = Referee(self.node)

    def close(self):
        self.referee.close()
        self.node.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def argv(self, command):
        """A command in which BUILD and URL stand for the folder of what was built and the broker's address."""
        return [str(word).replace("BUILD", str(self.build)).replace("URL", self.node.url) for word in command]

    def start(self, name, command, environment=(), stdout_to=None):
        given = {key: value.replace("URL", self.node.url) for key, value in environment}
        return Process(self.folder, f"{name}-{next(self._serial)}", self.argv(command), given, stdout_to)

    def start_ready(self, name, command, words):
        process = self.start(name, command)
        process.await_words(words, START_SECONDS)
        return process

    def fill(self, queue, count, size, options=()):
        """The queue is there after this, durable (quorum, without "--classic"), with so many messages, all confirmed."""
        process = self.start("fill", ["BUILD/bench/fill", *options, "URL", queue, count, size])
        if process.wait(FILL_SECONDS) != 0:
            raise Failure(f"the queue could not be filled: {process.said()}")

    def _delete(self, queue):
        self.referee.stop()
        self.referee.delete(queue)
        self.referee.delete(f"{queue}.dead")

    def delete(self, queue):
        """And the one that wpool declares beside it. A referee that has failed is replaced: it costs one measurement,
        and not all that follow."""
        try:
            self._delete(queue)
        except Failure as failure:
            print(f"{failure}; another one is started", flush=True)
            self.referee.close()
            self.referee = Referee(self.node)
            self._delete(queue)
