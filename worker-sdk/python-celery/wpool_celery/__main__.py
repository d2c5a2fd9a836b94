"""Celery's own `worker` command; its worker gets wpool's pool and consumer."""

import argparse
import json
import logging
import os
import stat
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

# Of `celery` itself; of the pool, whose configuration has them as settings; of a service, which Celery would set up for this process.
GLOBAL = "-A --app", "-b --broker", "--result-backend", "--loader", "--config", "--workdir"
SETTINGS = ("-c --concurrency", "--autoscale", "--max-tasks-per-child", "--max-memory-per-child", "--prefetch-multiplier", "-Q --queues",
            "-X --exclude-queues")
OF_SERVICE = "--uid", "--gid", "--umask", "--pidfile", "--executable"
NEEDED = "body: bin", "headers: typed", "properties: true"
INSTEAD = {"autoscale": "the pool's `workers: {min, max}`", "beat": "a process of its own, `celery beat`",
           "purge": "`celery purge`", "logfile": "the log of wpool"}


def refuse(why):
    sys.exit(f"wpool_celery: {why}")


def refuse_pool(pool):
    if pool not in (None, "prefork", "processes", "solo"):
        refuse(f"no pool of {pool}: a worker of wpool has one task at a time; give its pool more `workers`")


def take(arguments, options, flags=()):
    """Return the values of these options and flags that are given, and the other arguments."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    for names in options:
        parser.add_argument(*names.split())
    for names in flags:
        parser.add_argument(*names.split(), action="store_true")
    found, rest = parser.parse_known_args(arguments)
    return vars(found), rest


def add_levels(formatter):
    """Give wpool the level of warnings and errors, whose lines become JSON objects. What a task prints stays text."""
    def format(record, format_text=formatter.format):
        text = format_text(record)
        if record.levelno < logging.WARNING or record.name == "celery.redirected":
            return text
        return "\n".join(json.dumps({"level": record.levelname, "msg": line}) for line in text.splitlines())
    formatter.format = format


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
            print(pool_config(self.app, {**options, **self.of_service}, self.config_of), end="", file=sys.__stdout__)
            sys.exit()
        if stat.S_IFMT(os.fstat(0).st_mode) not in (stat.S_IFIFO, stat.S_IFSOCK):  # so no supervisor writes to it
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
                    add_levels(handler.formatter)
        return is_custom

    def start(self):
        log_error(f"wpool_celery: {len(self.app.tasks)} tasks, Celery {celery.__version__} (tested with {', '.join(TESTED)})")
        super().start()
        sys.exit(self.exitcode)


def main(arguments=None):
    ours, rest = take(arguments, ["-P --pool"], ["--pool-config", "-D --detach", "-C --no-color", "-q --quiet"])
    of_celery, rest = take(rest, GLOBAL)
    rest = rest[rest[:1] == ["worker"]:]  # the command, where `celery` wants it
    refuse_pool(ours.get("pool"))
    if "detach" in ours:
        refuse("not --detach, but systemd or a container")
    if os.environ.get("WPOOL_CONCURRENCY", "1") != "1":
        refuse("the pool's `concurrency` is for asyncio; give it more `workers`")
    if lacking := [setting for setting in NEEDED if setting not in os.environ.get("WPOOL_TASK", setting)]:
        refuse(f"Celery's messages need `{'`, `'.join(lacking)}` in the pool; add that, and reload wpool")
    sys.path.insert(0, os.getcwd())
    given = [f"--{name.replace('_', '-')}={value}" for name, value in of_celery.items()]
    if "pool_config" in ours:
        Worker.of_service, rest = take(rest, OF_SERVICE)
        Worker.config_of = given + take(rest, SETTINGS)[1]
        sys.stdout = sys.stderr  # what the application prints when it is loaded is no configuration
    celery_worker.Worker = Worker
    command([*given, "worker", "--pool=solo", *rest], prog_name="wpool_celery", auto_envvar_prefix="CELERY")


if __name__ == "__main__":
    main()
