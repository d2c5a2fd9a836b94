"""The contestants of the throughput runs, in the order of a round, and their commands."""

import dataclasses
import pathlib
import shutil

HERE = pathlib.Path(__file__).resolve().parent.parent
QUEUE = "bench"
REPLIES = "bench.replies"
TASK = "noop"
PREFETCH = 500  # of the plain programs: more than RabbitMQ's documentation advises for throughput
DEEP_PREFETCH = 5000
ACK_EVERY = 50
CONFIRM_EVERY = 250
SMALL = 100  # bytes
SIZES = {"4 KiB": 4 << 10, "256 KiB": 256 << 10, "8 MiB": 8 << 20}
NOOP = ("BUILD/bench/noop_worker",)
RPC_WORKER = (*NOOP, "reply")


@dataclasses.dataclass(frozen=True)
class Contestant:
    name: str
    label: str
    command: tuple
    guess: int  # messages a second, for the first run, which does not count
    against: str = "plain"  # whose throughput in the same round its own is divided by
    size: int = SMALL
    workers: int = 0
    pipeline: str = ""
    is_rpc: bool = False
    ready: str = ""  # its message when all its workers are ready
    fill: tuple = ()
    environment: tuple = ()
    needs: str = ""  # a program of a Debian package
    package: str = ""

    @property
    def is_wpool(self):
        return self.command[0] == "BUILD/wpool"

    @property
    def counts_itself(self):
        """Whether it prints its number of messages at the end."""
        return self.command[0].startswith("BUILD/bench/")

    def missing(self):
        """Why it cannot run here; "" if it can."""
        if not self.needs or shutil.which(self.needs):
            return ""
        return f"not installed (package {self.package}); tools/deps bench installs it"


def serve(queue, workers, pipeline, worker, options=()):
    return ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text", "--queue", queue, "--workers",
            workers, "--pipeline", pipeline, *options, "--", *worker)


def all_ready(workers):
    return rf"\b{workers} workers? ready"


def wpool(name, label, workers, pipeline, worker=NOOP, guess=40_000, **more):
    return Contestant(name, label, serve(QUEUE, workers, pipeline, worker), guess, workers=workers,
                      pipeline=str(pipeline), ready=all_ready(workers), **more)


def plain(name, label, every=1, prefetch=PREFETCH, guess=60_000, **more):
    command = ("BUILD/bench/plain_consumer", "URL", QUEUE, prefetch, every)
    return Contestant(name, label, command, guess, **more)


def plain_rpc(queue):
    return ("BUILD/bench/plain_rpc", "URL", queue, PREFETCH, CONFIRM_EVERY)


def classic():
    """On a durable classic queue, as most applications have it."""
    more = {"fill": ("--classic",), "against": f"classic-plain-{ACK_EVERY}", "guess": 25_000}
    text = "classic queue: "
    yield plain("classic-plain", f"{text}plain C consumer, acks each", **more)
    yield plain(f"classic-plain-{ACK_EVERY}", f"{text}plain C consumer, acks every {ACK_EVERY}th", ACK_EVERY, **more)
    for count in (1, 4):
        yield wpool(f"classic-wpool-{count}", f"{text}wpool, auto, {count} C worker{'s' * (count > 1)}", count, "auto",
                    **more)


def rpc_pair():
    yield Contestant("rpc-plain", f"plain C RPC server, confirms every {CONFIRM_EVERY}", plain_rpc(QUEUE), 15_000,
                     against="rpc-plain", is_rpc=True)
    yield wpool("rpc-wpool", "wpool RPC, auto, 4 C workers", 4, "auto", RPC_WORKER, guess=12_000,
                against="rpc-plain", is_rpc=True)


def others():
    # fill publishes the same messages as its own client, but faster.
    yield Contestant(
        "celery", "Celery prefork, 2 processes, late acks",
        ("/usr/bin/python3", "-m", "celery", "-A", "celery_app", "worker", "--pool", "prefork", "--concurrency", "2",
         "--without-gossip", "--without-mingle", "--without-heartbeat", "--queues", QUEUE, "--loglevel", "WARNING"),
        4_000, workers=2, fill=("--celery", TASK),
        environment=(("PYTHONPATH", str(HERE)), ("CELERY_URL", "URL"), ("C_FORCE_ROOT", "1"),
                     ("PYTHONDONTWRITEBYTECODE", "1")),
        needs="/usr/bin/celery", package="celery")
    yield Contestant("amqp-consume", "amqp-consume, a process for each message",
                     ("amqp-consume", "--url", "URL", "-q", QUEUE, "-p", PREFETCH, "cat"), 400,
                     needs="amqp-consume", package="amqp-tools")


def sizes():
    for text, size in SIZES.items():
        short = text.replace(" ", "")
        guess = max(20, min(10_000, (100 << 20) // size))
        yield plain(f"plain-{short}", f"plain C consumer, {text}", size=size, guess=guess,
                    against=f"plain-{short}")
        yield wpool(f"wpool-{short}", f"wpool, auto, 4 C workers, {text}", 4, "auto", size=size, guess=guess,
                    against=f"plain-{short}")


def all_contestants(counts):
    """counts: the numbers of C workers."""
    yield plain("plain", "plain C consumer, acks each")
    yield plain(f"plain-{ACK_EVERY}", f"plain C consumer, acks every {ACK_EVERY}th", ACK_EVERY)
    yield plain("plain-deep", f"plain C consumer, acks each, prefetch {DEEP_PREFETCH:,}", prefetch=DEEP_PREFETCH)
    for count in counts:
        yield wpool(f"wpool-auto-{count}", f"wpool, auto, {count:,} C workers", count, "auto")
    for count in counts:
        yield wpool(f"wpool-one-{count}", f"wpool, one in flight, {count:,} C workers", count, 1)
    yield wpool("wpool-python-4", "wpool, auto, 4 Python workers", 4, "auto",
                ("/usr/bin/python3", HERE / "noop_worker.py"), guess=10_000)
    yield from classic()
    yield from rpc_pair()
    yield from others()
    yield from sizes()
