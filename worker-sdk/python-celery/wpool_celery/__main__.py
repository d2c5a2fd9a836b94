"""Celery's own `worker` command; its worker gets wpool's pool and consumer."""

import argparse
import os
import sys

import celery
from celery.apps import worker as celery_worker
from celery.bin.celery import celery as command
from wpool_worker.errors import log_error

from . import TESTED
from .consumer import Consumer
from .pool import Pool
from .pool_config import pool_config
from .records import prefix_of

SETTINGS = (["-c", "--concurrency"], ["--autoscale"], ["--max-tasks-per-child"], ["--max-memory-per-child"],
            ["--prefetch-multiplier"], ["-Q", "--queues"], ["-X", "--exclude-queues"])  # of wpool's pools
GLOBAL = {"app": "-A", "broker": "-b", "result-backend": None, "loader": None, "config": None, "workdir": None}
INSTEAD = {"autoscale": "the pool's `workers: {min, max}`", "beat": "a process of its own, `celery beat`",
           "purge": "`celery purge`", "logfile": "the log of wpool"}


def refuse(why):
    sys.exit(f"wpool_celery: {why}")


def refuse_pool(pool):
    if pool not in (None, "prefork", "processes", "solo"):
        refuse(f"no pool of {pool}: a worker of wpool has one task at a time; give its pool more `workers`")


class Worker(celery_worker.Worker):
    config_of = None  # the arguments of the command in the configuration that is to be printed

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
            print(pool_config(self.app, options, self.config_of), end="")
            sys.exit()
        Pool.records = prefix_of(self.app.main, conf.broker_url, conf.result_backend)
        # Confirmed: what a task sends is not lost in a connection that has died.
        conf.broker_transport_options = {"confirm_publish": True, **conf.broker_transport_options}
        conf.worker_state_db = None  # one file for one process; here workers tell each other what was revoked
        options.update(pool=Pool, consumer_cls=Consumer, use_eventloop=False, concurrency=1, quiet=True, statedb=None)
        super().__init__(app, hostname, **options)

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
    options, rest = parser.parse_known_args(arguments)
    refuse_pool(options.pool)
    if options.detach:
        refuse("not --detach, but systemd or a container")
    if os.environ.get("WPOOL_CONCURRENCY", "1") != "1":
        refuse("the pool's `concurrency` is for asyncio; give it more `workers`")
    sys.path.insert(0, os.getcwd())
    given = [f"--{name}={getattr(options, name)}" for name in GLOBAL if getattr(options, name)]
    if options.pool_config:
        others = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        for names in SETTINGS:
            others.add_argument(*names)
        Worker.config_of = given + others.parse_known_args(rest)[1]
    celery_worker.Worker = Worker
    command([*given, "worker", "--pool=solo", *rest], prog_name="wpool_celery", auto_envvar_prefix="CELERY")


if __name__ == "__main__":
    main()
