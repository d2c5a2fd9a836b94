"""The contestants of the throughput runs, in the order of a round, and their commands."""

import dataclasses
import functools
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent.parent
SDKS = HERE.parent.parent / "worker-sdk"
QUEUE = "bench"
REPLIES = "bench.replies"
BESIDE = "bench.beside"
TASK, WAIT_TASK = "noop", "wait"
PREFETCH = 500  # of the plain programs: more than RabbitMQ's documentation advises for throughput
DEEP_PREFETCH = 5000
ACK_EVERY = 50
CONFIRM_EVERY = 250
SMALL = 100  # bytes
SIZES = {"4 KiB": 4 << 10, "256 KiB": 256 << 10, "8 MiB": 8 << 20}
NOOP = ("BUILD/bench/noop_worker",)
RPC_WORKER = (*NOOP, "reply")
WAIT = "BUILD/bench/wait_worker"
WAIT_MS, WAIT_OPEN = 10, 200  # of a task, and how many wait at once
OPEN_WORKERS = 10
PYTHON = "/usr/bin/python3"
KEYS, MANY_KEYS = 1000, 100_000
KEYS_WAIT_MS, KEYS_WORKERS = 1, 64
THROTTLED_A_SECOND = 1000


@functools.cache
def has_module(name):
    """Debian's Python, which the contestants use, need not be the one that runs the bench."""
    argv = [PYTHON, "-c", "import sys, importlib.util; sys.exit(not importlib.util.find_spec(sys.argv[1]))", name]
    return subprocess.run(argv, check=False).returncode == 0


@dataclasses.dataclass(frozen=True)
class Contestant:
    name: str
    label: str
    command: tuple
    guess: int  # messages a second, for the first run, which does not count
    against: str = "plain"  # whose throughput in the same round its own is divided by
    fewest: int = 1  # messages in a run
    size: int = SMALL
    workers: int = 0
    pipeline: str = ""
    is_rpc: bool = False
    ready: str = ""  # its message when all its workers are ready
    fill: tuple = ()
    environment: tuple = ()
    has_redis: bool = False  # REDIS in the environment is the address of a server of its own
    configuration: str = ""  # the text of the file that CONFIGURATION in the command stands for
    beside: int = 0  # messages in the queue BESIDE, most of which are there at the end
    needs: str = ""  # a program of a Debian package
    module: str = ""  # of Python, the same
    package: str = ""  # or several

    @property
    def is_wpool(self):
        return self.command[0] == "BUILD/wpool"

    @property
    def counts_itself(self):
        """Whether it prints its number of messages at the end."""
        return self.command[0].startswith("BUILD/bench/")

    def missing(self):
        """Why it cannot run here; "" if it can."""
        has_program = not self.needs or shutil.which(self.needs)
        if has_program and (not self.module or has_module(self.module)):
            return ""
        return f"not installed (package {self.package}); tools/deps bench installs it"

    def command_in(self, bench):
        """Return the command, whose configuration is a file now."""
        if not self.configuration:
            return self.command
        path = bench.folder / f"{self.name}.yaml"
        path.write_text(self.configuration.replace("BUILD", str(bench.build)))
        return [path if word == "CONFIGURATION" else word for word in self.command]


def serve(queue, workers, pipeline, worker, options=()):
    return ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text", "--queue", queue, "--workers",
            workers, "--pipeline", pipeline, *options, "--", *worker)


def all_ready(workers):
    return rf"\b{workers} workers? ready"


def wpool(name, label, workers, pipeline, worker=NOOP, guess=40_000, options=(), **more):
    return Contestant(name, label, serve(QUEUE, workers, pipeline, worker, options), guess, workers=workers,
                      pipeline=str(pipeline), ready=all_ready(workers), **more)


def wpool_many(name, label, workers, concurrency, worker, **more):
    return wpool(name, label, workers, 1, worker, options=("--concurrency", concurrency), **more)


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


def celery_environment(prefetch=64, **more):
    yield from (("PYTHONPATH", f"{HERE}:{SDKS / 'python'}:{SDKS / 'python-celery'}"), ("CELERY_URL", "URL"), ("C_FORCE_ROOT", "1"),
                ("CELERY_PREFETCH", str(prefetch)), ("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONWARNINGS", "ignore"))
    yield from more.items()


def celery(name, label, pool, concurrency, task, multiplier, guess=4_000, fill=(), environment=(), **more):
    """fill publishes the same messages as its own client, but faster. multiplier: prefetch for each task, 0: no limit."""
    return Contestant(
        name, label,
        (PYTHON, "-m", "celery", "-A", "celery_app", "worker", "--pool", pool, "--concurrency", concurrency,
         "--without-gossip", "--without-mingle", "--without-heartbeat", "--queues", QUEUE, "--loglevel", "WARNING"),
        guess, fill=(*fill, "--celery", task), environment=(*celery_environment(multiplier), *environment),
        needs="/usr/bin/celery", **more)


def adapter(name, start, text, results, options="", **more):
    """start: the setting of the pool that starts its workers: command or preload. options: more of the adapter, as in YAML."""
    pool = (f"{{queue: {QUEUE}, {start}: [{PYTHON}, -m, wpool_celery, -A, celery_app, -Q, {QUEUE}, --without-heartbeat, "
            f"--without-mingle{options}], "
            "workers: 4, body: bin, headers: typed, properties: true, env_pass: all, limits: {boot: 1min}}")
    return Contestant(
        name, f"wpool, an empty task of Celery, 4 workers{text}",
        ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text", "--config", "CONFIGURATION"), 6_000,
        configuration=f"pools: [{pool}]\n", ready=all_ready(4), environment=(*celery_environment(), *results), **more)


def celery_applications():
    """An empty task of an application, on Celery's own kind of queue: under Celery's worker, and under wpool."""
    options = ("--classic",)
    for end, text, redis in (("", "", ()), ("-results", ", results in Redis", (("CELERY_RESULTS", "REDIS"),))):
        # The adapter uses Celery's fast stacks by itself; so that both have the same, its own worker gets them, too.
        results = (("CELERY_ACKS", "early"), ("USE_FAST_LOCALS", "1"), *redis)
        theirs = f"celery-app{end}"
        more = {"workers": 4, "against": theirs, "package": "celery redis-server", "has_redis": bool(redis)}
        ours = {"fill": (*options, "--celery", TASK), "needs": "redis-server" if redis else "/usr/bin/celery", **more}
        yield celery(theirs, f"Celery prefork, an empty task, 4 processes{text}", "prefork", 4, TASK, 64, guess=2_000, fill=options,
                     environment=results, **more)
        yield adapter(f"wpool-celery{end}", "command", text, results, **ours)
        if not redis:
            yield adapter("wpool-celery-preload", "preload", ", preload", results, **ours)
            yield adapter("wpool-celery-events", "command", ", events", results, ", -E", **ours)


def others():
    yield celery("celery", "Celery prefork, 2 processes, late acks", "prefork", 2, TASK, 64, workers=2, package="celery")
    yield Contestant("amqp-consume", "amqp-consume, a process for each message",
                     ("amqp-consume", "--url", "URL", "-q", QUEUE, "-p", PREFETCH, "cat"), 400,
                     needs="amqp-consume", package="amqp-tools")


def many_at_once():
    """Many open tasks in one worker; those of "wait" are done after 10 ms."""
    yield wpool_many("many-noop", "1 C worker, 100 at once, no-op", 1, 100, ("BUILD/bench/noop_worker_many",),
                     against="wpool-one-4")
    more = {"against": "many-wait", "guess": 10_000}
    text = f"{WAIT_OPEN} at once, {WAIT_MS} ms each"
    yield wpool_many("many-wait", f"1 C worker, {text}", 1, WAIT_OPEN, (WAIT, WAIT_MS), **more)
    yield wpool_many("many-wait-python", f"1 Python worker (asyncio, uvloop), {text}", 1, WAIT_OPEN,
                     (PYTHON, HERE / "wait_worker.py"), module="uvloop", package="python3-uvloop", **more)
    yield wpool_many("many-wait-processes", f"{WAIT_OPEN} C workers, one in flight, {WAIT_MS} ms each", WAIT_OPEN, 1,
                     (WAIT, WAIT_MS), **more)
    # Outside of prefork Celery acks only when a delivery comes, or every 2 s: no limit, or it would wait for that.
    yield celery("many-wait-celery", f"Celery gevent, 1 process, {text}", "gevent", WAIT_OPEN, WAIT_TASK, 0, guess=400,
                 fewest=3_000, against="many-wait", module="gevent", package="celery python3-gevent")
    # Both do 10,000 tasks a second.
    for count in (1, 1000):
        total = OPEN_WORKERS * count
        yield wpool_many(f"many-open-{total}", f"{OPEN_WORKERS} C workers, {total:,} open tasks, {count:,} ms each",
                         OPEN_WORKERS, count, (WAIT, count), guess=30_000, against=f"many-open-{OPEN_WORKERS}")


def session_environment(**settings):
    """Of a pool whose messages have keys as fill --keys sets them."""
    yield "WPOOL_SESSION_KEY", "header:session"
    for name, value in settings.items():
        yield f"WPOOL_SESSION_{name.upper()}", value


def keyed():
    """Messages with keys; those without sessions get the same messages."""
    ordered = {"environment": tuple(session_environment()), "guess": 30_000}

    def fill(keys, *more):
        return ("--keys", keys, *more)

    hold = (*NOOP, "hold", KEYS_WAIT_MS)
    yield wpool("keys-unordered", f"{KEYS:,} keys, no sessions, 4 C workers", 4, "auto", fill=fill(KEYS))
    yield wpool("keys-1000", f"{KEYS:,} keys, 4 C workers", 4, "auto", fill=fill(KEYS, "--single"),
                against="keys-unordered", **ordered)
    yield wpool("keys-zipf", f"{MANY_KEYS:,} keys (Zipf), 4 C workers", 4, "auto",
                fill=fill(MANY_KEYS, "--zipf", "--single"), against="keys-unordered", **ordered)
    yield wpool("keys-one-unordered", "1 key, no sessions, 1 C worker, one in flight", 1, 1, fill=fill(1),
                against="keys-one-unordered")
    yield wpool("keys-one", "1 key, 4 C workers", 4, "auto", fill=fill(1, "--single"), against="keys-one-unordered",
                **ordered)
    text = f"{KEYS_WAIT_MS} ms each"
    yield wpool("keys-wait-unordered", f"{KEYS:,} keys, no sessions, 1 C worker, one in flight, {text}", 1, 1, hold,
                guess=600, fill=fill(KEYS), against="keys-wait-unordered")
    yield wpool("keys-wait", f"{KEYS:,} keys, {KEYS_WORKERS} C workers, {text}", KEYS_WORKERS, "auto", hold,
                fill=fill(KEYS, "--single"), against="keys-wait-unordered", **ordered)


def throttled(name, label, throttles, pools=(f"queue: {QUEUE}, throttle: [bench]",), **more):
    """4 C workers in each pool; throttles, pools: YAML."""
    noop = f"command: [{NOOP[0]}], workers: 4"
    lines = ["throttles:", *(f"  - {{{text}}}" for text in throttles),
             "pools:", *(f"  - {{{noop}, pipeline: 1, {text}}}" for text in pools)]
    command = ("BUILD/wpool", "serve", "--broker", "URL", "--log-format", "text", "--config", "CONFIGURATION")
    return Contestant(name, label, command, configuration="\n".join((*lines, "")), workers=4 * len(pools),
                      ready=all_ready(4), **more)


def with_throttles():
    yield throttled("throttle-idle", "4 C workers, a throttle that never applies",
                    ("name: bench, limit: 1000000, period: 1s",), guess=40_000, against="wpool-one-4")
    yield throttled("throttle-1000", f"4 C workers, {THROTTLED_A_SECOND:,} starts a second",
                    (f"name: bench, limit: {THROTTLED_A_SECOND}, period: 1s",), guess=THROTTLED_A_SECOND,
                    fewest=15 * THROTTLED_A_SECOND, against="throttle-1000")
    yield throttled("throttle-beside", "4 C workers beside a pool that is held back",
                    ("name: held, limit: 10, period: 1s",),
                    (f"name: bench, queue: {QUEUE}", f"name: held, queue: {BESIDE}, throttle: [held]"),
                    guess=40_000, beside=10_000, against="wpool-one-4")


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
                (PYTHON, HERE / "noop_worker.py"), guess=10_000)
    yield from classic()
    yield from rpc_pair()
    yield from others()
    yield from celery_applications()
    yield from many_at_once()
    yield from keyed()
    yield from with_throttles()
    yield from sizes()
