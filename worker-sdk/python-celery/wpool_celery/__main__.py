"""Celery's own `worker` command; its worker gets wpool's pool and consumer."""

import argparse
import json
import logging
import os
import sys
import warnings

import celery
from celery.apps import worker as celery_worker
from celery.bin.celery import celery as command
from celery.exceptions import SecurityWarning
from wpool_worker.errors import log_error

from . import TESTED
from .consumer import Consumer
from .pool import Pool
from .pool_config import pool_config
from .records import prefix_of

# Options that the printed configuration has as settings, or not at all. The second ones are not for Celery: it would do them.
SETTINGS = (["-c", "--concurrency"], ["--autoscale"], ["--max-tasks-per-child"], ["--max-memory-per-child"],
            ["--prefetch-multiplier"], ["-Q", "--queues"], ["-X", "--exclude-queues"])
OF_SERVICE = (["--uid"], ["--gid"], ["--umask"], ["--pidfile"], ["--executable"])
GLOBAL = {"app": "-A", "broker": "-b", "result-backend": None, "loader": None, "config": None, "workdir": None}
FLAGS = {"no-color": "-C", "quiet": "-q"}  # global as well
INSTEAD = {"autoscale": "the pool's `workers: {min, max}`", "beat": "a process of its own, `celery beat`",
           "purge": "`celery purge`", "logfile": "the log of wpool"}


def refuse(why):
    sys.exit(f"wpool_celery: {why}")


def refuse_pool(pool):
    if pool not in (None, "prefork", "processes", "solo"):
        refuse(f"no pool of {pool}: a worker of wpool has one task at a time; give its pool more `workers`")


def without(options, arguments):
    """Return the values of these options, and the other arguments."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for names in options:
        parser.add_argument(*names)
    found, rest = parser.parse_known_args(arguments)
    return vars(found), rest


class Leveled(logging.Formatter):
    """Gives wpool the level of each line, as a JSON object, if it is not that of every other line."""

    def __init__(self, formatter):
        super().__init__()
        self.format_text = formatter.format

    def format(self, record):
        text = self.format_text(record)
        if record.levelno < logging.WARNING:
            return text
        return "\n".join(json.dumps({"level": record.levelname, "msg": line}) for line in text.splitlines())


class Worker(celery_worker.Worker):
    config_of = None  # the arguments of the command in the configuration that is to be printed
    of_service = {}  # options of the command that are for its pool

    def __init__(self, app=None, hostname=None, **options):
        conf = self.app.conf
        transport = self.app.connection_for_read().transport.driver_type
        if transport != "amqp":
            refuse(f"the application's broker is {transport}; that of wpool is RabbitMQ")
        refuse_pool(conf.worker_pool)
        for name in filter(options.get, INSTEAD):
            if not (self.config_of and name == "autoscale"):  # which the configuration has
                refuse(f"not --{name}, but {INSTEAD[name]}")
        if self.config_of:
            print(pool_config(self.app, {**options, **self.of_service}, self.config_of), end="")
            sys.exit()
        if "WPOOL_WORKER" not in os.environ:
            refuse("wpool starts this: `python3 -m wpool_celery --pool-config -A APP > wpool.yaml`, `wpool serve --config wpool.yaml`")
        if os.environ.get("WPOOL_SLOT", "0") != "0":  # the first worker says it for all
            warnings.simplefilter("ignore", SecurityWarning)
        Pool.records = prefix_of(self.app.main, conf.broker_url, conf.result_backend)
        # Confirmed: what a task sends is not lost in a connection that has died.
        conf.broker_transport_options = {"confirm_publish": True, **conf.broker_transport_options}
        conf.worker_state_db = None  # one file for one process; here workers tell each other what was revoked
        options.update(pool=Pool, consumer_cls=Consumer, use_eventloop=False, concurrency=1, quiet=True, statedb=None)
        super().__init__(app, hostname, **options)

    def setup_logging(self, colorize=None):
        is_custom = super().setup_logging(colorize)
        for logger in () if is_custom else (logging.getLogger(), logging.getLogger("celery.task")):
            for handler in logger.handlers:
                if getattr(handler, "stream", None) is sys.__stderr__ and handler.formatter:
                    handler.setFormatter(Leveled(handler.formatter))
        return is_custom

    def start(self):
        log_error(f"wpool_celery: {len(self.app.tasks)} tasks, Celery {celery.__version__} (tested with {', '.join(TESTED)})")
        super().start()
        sys.exit(self.exitcode)


def main(arguments=None):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--pool-config", action="store_true")
    parser.add_argument("-P", "--pool")
    parser.add_argument("-D", "--detach", action="store_true")
    for name, short in GLOBAL.items():
        parser.add_argument(f"--{name}", *filter(None, [short]), dest=name)
    for name, short in FLAGS.items():
        parser.add_argument(f"--{name}", short, dest=name, action="store_true")
    options, rest = parser.parse_known_args(arguments)
    refuse_pool(options.pool)
    if options.detach:
        refuse("not --detach, but systemd or a container")
    if os.environ.get("WPOOL_CONCURRENCY", "1") != "1":
        refuse("the pool's `concurrency` is for asyncio; give it more `workers`")
    sys.path.insert(0, os.getcwd())
    given = [f"--{name}={getattr(options, name)}" for name in GLOBAL if getattr(options, name)]
    if options.pool_config:
        Worker.of_service, rest = without(OF_SERVICE, rest)
        Worker.config_of = given + without(SETTINGS, rest)[1]
    celery_worker.Worker = Worker
    given += [f"--{name}" for name in FLAGS if getattr(options, name)]
    command([*given, "worker", "--pool=solo", *rest], prog_name="wpool_celery", auto_envvar_prefix="CELERY")


if __name__ == "__main__":
    main()
