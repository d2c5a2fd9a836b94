"""Who takes part, and how each is started. The order is that of a round."""

import dataclasses
import pathlib
import shutil

HERE = pathlib.Path(__file__).resolve().parent.parent
QUEUE = "bench"
REPLIES = "bench.replies"
TASK = "noop"
PREFETCH = 500  # of the plain programs: more brings them nothing
ACK_EVERY = 50
CONFIRM_EVERY = 50
SIZES = {"4KiB": 4 << 10, "256KiB": 256 << 10, "8MiB": 8 << 20}


@dataclasses.dataclass(frozen=True)
class Contestant:
    name: str
    label: str
    command: tuple  # BUILD and URL stand for the folder of what was built and the broker's address
    guess: int  # messages a second, for the first run, which counts for nothing
    against: str = "plain"  # whose throughput in the same round its own is divided by
    size: int = 100
    workers: int = 0
    is_rpc: bool = False
    ready: str = ""  # what it says when all its workers are up
    fill: tuple = ()
    environment: tuple = ()
    needs: str = ""  # a program of a Debian package
    package: str = ""

    @property
    def is_wpool(self):
        return self.command[0] == "BUILD/wpool"

    def argv(self, build, url):
        return [word.replace("BUILD", str(build)).replace("URL", url) for word in self.command]

    def is_missing(self):
        return bool(self.needs) and shutil.which(self.needs) is None


def serve(workers, pipeline, worker, queue=QUEUE, options=()):
    return ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text", "--queue", queue, "--workers",
            str(workers), "--pipeline", str(pipeline), *options, "--", *worker)


def wpool(name, label, workers, pipeline, worker=("BUILD/bench/noop_worker",), **more):
    return Contestant(name, label, serve(workers, pipeline, worker), more.pop("guess", 40_000), workers=workers,
                      ready=rf"{workers} workers? ready", **more)


def plain(name, label, every, **more):
    command = ("BUILD/bench/plain_consumer", "URL", QUEUE, str(PREFETCH), str(every))
    return Contestant(name, label, command, more.pop("guess", 60_000), **more)


def rpc_pair():
    command = ("BUILD/bench/plain_rpc", "URL", QUEUE, str(PREFETCH), str(CONFIRM_EVERY))
    yield Contestant("rpc-plain", f"RPC: plain C server, confirms every {CONFIRM_EVERY}", command, 15_000,
                     against="rpc-plain", is_rpc=True)
    yield wpool("rpc-wpool", "RPC: wpool, auto, 4 C workers", 4, "auto", ("BUILD/bench/noop_worker", "reply"),
                against="rpc-plain", is_rpc=True, guess=12_000)


def others():
    # Its own client would make 100,000 messages slowly: fill makes the same ones.
    yield Contestant(
        "celery", "Celery prefork, 2 processes, late acks",
        ("celery", "-A", "celery_app", "worker", "--pool", "prefork", "--concurrency", "2", "--without-gossip",
         "--without-mingle", "--without-heartbeat", "--queues", QUEUE, "--loglevel", "INFO"),
        4_000, workers=2, ready=r"celery@\S+ ready", fill=("--celery", TASK),
        environment=(("PYTHONPATH", str(HERE)), ("CELERY_URL", "URL"), ("C_FORCE_ROOT", "1"),
                     ("PYTHONDONTWRITEBYTECODE", "1")),
        needs="celery", package="celery")
    yield Contestant("amqp-consume", "amqp-consume, a process for each message",
                     ("amqp-consume", "--url", "URL", "-q", QUEUE, "-p", str(PREFETCH), "cat"), 400,
                     needs="amqp-consume", package="amqp-tools")


def sizes():
    for words, size in SIZES.items():
        guess = max(20, min(10_000, (100 << 20) // size))
        yield plain(f"plain-{words}", f"plain C consumer, {words}", 1, size=size, guess=guess,
                    against=f"plain-{words}")
        yield wpool(f"wpool-{words}", f"wpool, auto, 4 C workers, {words}", 4, "auto", size=size, guess=guess,
                    against=f"plain-{words}")


def everybody(counts):
    """counts: how many workers the pools of C workers have."""
    yield plain("plain", "plain C consumer, acks each", 1)
    yield plain(f"plain-{ACK_EVERY}", f"plain C consumer, acks every {ACK_EVERY}th", ACK_EVERY)
    for count in counts:
        yield wpool(f"wpool-auto-{count}", f"wpool, auto, {count:,} C workers", count, "auto")
    for count in counts:
        yield wpool(f"wpool-one-{count}", f"wpool, one in flight, {count:,} C workers", count, 1)
    yield wpool("wpool-python-4", "wpool, auto, 4 Python workers", 4, "auto",
                ("/usr/bin/python3", str(HERE / "noop_worker.py")), guess=10_000)
    yield from rpc_pair()
    yield from others()
    yield from sizes()
