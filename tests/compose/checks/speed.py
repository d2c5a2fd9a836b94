"""How fast it is in containers, beside the same programs on the host."""
import contextlib
import os
import re
import statistics
import subprocess
import time

from debian_folder import start_node
from engine import ROOT, Failure, await_for, run
from project import get_json
from traffic import SECONDS

POOL, COUNT, BYTES, ROUNDS = "speed", 100_000, 100, 5
RATIO_MIN = 0.9


class Side:
    """A supervisor and its broker: commands reach it with this prefix, its figures are at this address."""

    def __init__(self, name, prefix, address, environment=None):
        self.name, self.prefix, self.address = name, prefix, address
        self.environment = {**os.environ, **(environment or {})}
        self.rates = []

    def wpool(self, *arguments, **options):
        return run(*self.prefix, *arguments, env=self.environment, **options)

    def done(self):
        return get_json(f"{self.address}/v1/pools?pool={POOL}")["pools"][0]["totals"]["done"]

    def drain(self):
        """Publish while the pool is paused; record how many messages it then does in a second."""
        before = self.done()
        self.wpool("pause", POOL)
        self.wpool("publish", "--queue", POOL, "--lines", "--wait", f"{SECONDS}s", input=("x" * (BYTES - 1) + "\n") * COUNT)
        started = time.monotonic()
        self.wpool("resume", POOL)
        await_for(f"{COUNT} messages are done {self.name}", lambda: self.done() == before + COUNT, SECONDS, pause=0.02)
        self.rates.append(COUNT / (time.monotonic() - started))

    def median(self):
        return statistics.median(self.rates)


@contextlib.contextmanager
def side_on_host(project):
    """A private broker and a supervisor of this machine."""
    folder = project.images.scratch / "host"
    folder.mkdir(exist_ok=True)
    url = start_node(folder / "broker")
    environment = {"AMQP_URL": url, "SAMPLES_C": str(ROOT / "build/samples"), "WPOOL_HTTP_LISTEN": "127.0.0.1:0",
                   "WPOOL_CONTROL_SOCKET": str(folder / "control.sock"), "WPOOL_LOG_FORMAT": "text"}
    program = ROOT / "build/wpool"
    with open(folder / "log", "w+") as log:
        process = subprocess.Popen([program, "serve", "--config", ROOT / "tests/compose/speed/wpool.yaml"], stdout=log, stderr=log,
                                   env={**os.environ, **environment})
        try:
            port = await_for("the supervisor of the host shows its page", lambda: re.search(
                r"\(port ([0-9]+)\)", (folder / "log").read_text()), SECONDS)[1]
            yield Side("on the host", [program], f"http://127.0.0.1:{port}", environment)
        finally:
            process.terminate()
            process.wait()
            subprocess.run([ROOT / "tests/broker/node", "stop", folder / "broker"], stdout=subprocess.DEVNULL)


def speed(project):
    """Containers are not much slower than the host, in interleaved rounds. The broker's data is in its named volume."""
    project.compose("stop", "publisher")
    project.compose.files = ["tests/compose/speed/override.yml"]
    try:
        project.compose("up", "--detach", "supervisor", "page")
        inside = Side("in containers", ["docker", "exec", "--interactive", project.compose.container("supervisor"), "wpool"],
                      f"http://{project.address(project.compose.container('supervisor'))}:9464")
        with side_on_host(project) as outside:
            for side in (inside, outside):
                await_for(f"the pool works {side.name}", lambda: is_consuming(side), SECONDS)
            for _ in range(ROUNDS):
                for side in (inside, outside):
                    side.drain()
    finally:
        project.compose.files = []
        project.up()
    ratio = inside.median() / outside.median()
    text = f"{ratio:.2f} of the host: {inside.median():,.0f} and {outside.median():,.0f} messages/s, medians of {ROUNDS} rounds"
    if ratio < RATIO_MIN:
        raise Failure(f"{text}, less than {RATIO_MIN}")
    return text


def is_consuming(side):
    found = get_json(f"{side.address}/v1/pools?pool={POOL}")
    return found and found["pools"][0]["consuming"] and found["pools"][0]["workers"]["ready"] == 4


CHECKS = (speed,)
