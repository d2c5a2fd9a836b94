"""python3 -m wpool_celery: Celery's own `worker` command with wpool's pool and consumer in its worker."""

import argparse
import os
import sys

import celery
from celery.apps import worker as celery_worker
from celery.bin.celery import celery as command
from celery.utils.nodenames import nodename, nodesplit
from wpool_worker.errors import log_error

from . import TESTED
from .consumer import Consumer
from .pool import Pool, Timer
from .pool_config import pool_config
from .records import prefix_of

GLOBAL = ("app", "broker", "result-backend", "loader", "config", "workdir")  # Celery's options that come before `worker`
# Options of `celery worker` that change nothing here.
INSTEAD = {"autoscale": "the pool's setting `workers: {min, max}`", "beat": "a process of its own, `celery beat`",
           "purge": "`celery purge`", "detach": "systemd or a container", "logfile": "the log of wpool",
           "pidfile": "systemd or a container"}


def refuse(why):
    sys.exit(f"wpool_celery: {why}")


class Worker(celery_worker.Worker):
    is_dry = False  # only to print the configuration

    def __init__(self, app=None, hostname=None, **options):
        app = app or self.app
        transport = app.connection_for_read().transport.driver_type
        if transport != "amqp":
            refuse(f"the application's broker is {transport}, and that of wpool is RabbitMQ")
        if not self.is_dry:
            for name in filter(options.get, INSTEAD):
                refuse(f"not --{name}, but {INSTEAD[name]}")
            name, host = nodesplit(hostname)
            name = os.environ.get("WPOOL_POOL", name) if name == "celery" else name
            slot = os.environ.get("WPOOL_SLOT", "0")
            hostname = nodename(f"{name}-{slot}", host)
            options.update(quiet=True, concurrency=1, statedb=options.get("statedb") and f"{options['statedb']}-{slot}")
            Pool.records = prefix_of(app.main, app.conf.broker_url, app.conf.result_backend)
        # Confirmed: what a task sends is not lost in a connection that has died.
        app.conf.broker_transport_options = {"confirm_publish": True, **app.conf.broker_transport_options}
        options.update(pool=Pool, consumer_cls=Consumer, timer_cls=Timer, use_eventloop=False)
        super().__init__(app, hostname, **options)

    def start(self):
        if self.is_dry:
            print(pool_config(self), end="")
            return
        log_error(f"wpool_celery: node {self.hostname}, {len(self.app.tasks)} tasks, Celery {celery.__version__} "
                  f"(tested with {', '.join(TESTED)})")
        super().start()
        sys.exit(self.exitcode)


def main(arguments=None):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--pool-config", action="store_true")
    parser.add_argument("-P", "--pool")
    for name in GLOBAL:
        parser.add_argument(f"--{name}", *{"app": ["-A"], "broker": ["-b"]}.get(name, []), dest=name)
    options, rest = parser.parse_known_args(arguments)
    if options.pool in ("gevent", "eventlet", "threads"):
        refuse(f"no pool of {options.pool}: a worker of wpool is a process that works on one task; give the pool more `workers`")
    if os.environ.get("WPOOL_CONCURRENCY", "1") != "1":
        refuse("the pool's `concurrency` is for asyncio: give it more `workers`")
    sys.path.insert(0, os.getcwd())
    Worker.is_dry, celery_worker.Worker = options.pool_config, Worker
    before = [f"--{name}={getattr(options, name)}" for name in GLOBAL if getattr(options, name)]
    command([*before, "worker", *rest], prog_name="wpool_celery", auto_envvar_prefix="CELERY")


if __name__ == "__main__":
    main()
