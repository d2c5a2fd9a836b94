"""--pool-config: a configuration of wpool with a pool for each queue of the application."""

import json
import sys
from urllib.parse import quote


def address(connection):
    """Return the broker's address without its password, unless that is the one everybody knows."""
    info = connection.info()
    password = "guest" if info["password"] == "guest" else "${BROKER_PASSWORD}"
    return (f"amqp{'s' if info['ssl'] else ''}://{quote(info['userid'], '')}:{password}@{info['hostname']}:{info['port']}/"
            f"{quote(info['virtual_host'], '')}")


def pool(app, queue, options, arguments):
    """Return the settings of a queue's pool, in the order in which they are printed."""
    def option(name):
        return options.get(name) or app.conf.get(f"worker_{name}")

    limit = options.get("time_limit") or app.conf.task_time_limit
    workers = option("concurrency") or "auto"
    if options.get("autoscale"):
        workers = "{max: %d, min: %d}" % tuple(options["autoscale"])
    recycle = [f"{key}: {option(name)}{unit}" for key, name, unit in (
        ("tasks", "max_tasks_per_child", ""), ("memory", "max_memory_per_child", "KiB")) if option(name)]
    yield "queue", json.dumps(queue.name)
    yield "command", json.dumps([sys.executable, "-m", "wpool_celery", *arguments, "-Q", queue.name])
    yield "workers", workers
    yield "body", "bin"
    yield "headers", "typed"
    yield "properties", "true"
    yield "env_pass", "all  # the application needs the broker's address, too"
    if queue.max_priority or "x-max-priority" in (queue.queue_arguments or {}) or option("prefetch_multiplier") == 1:
        yield "pipeline", 1
    elif option("prefetch_multiplier") not in (0, 4) and isinstance(workers, int):
        yield "prefetch", workers * option("prefetch_multiplier")
    yield "limits", f"{{boot: 1min, hard: {f'{limit:.12g}s' if limit else '365d'}}}  # tasks and messages may have their own"
    yield "retry", "{attempts: 3, delay: [100ms], jitter: 0}  # of tasks whose process dies, with reject_on_worker_lost"
    if recycle:
        yield "recycle", f"{{{', '.join(recycle)}}}"
    for key, value in ("user", options.get("uid")), ("group", options.get("gid")):
        if value:
            yield key, json.dumps(value)
    if umask := options.get("umask"):
        yield "umask", f'"{int(umask, 8 if umask.startswith("0") else 10):03o}"'  # which Celery reads like this


def pool_config(app, options, arguments):
    queues = app.amqp.queues
    queues.select(options.get("queues"))
    queues.deselect(options.get("exclude_queues"))
    lines = ["broker:", f'  url: "{address(app.connection_for_read())}"', "drain: 1h  # how long a stop waits for tasks", "pools:"]
    for name in queues.consume_from:
        settings = [f"    {key}: {value}" for key, value in pool(app, queues[name], options, arguments)]
        lines += ["  -" + settings[0][3:], *settings[1:]]
    return "\n".join(lines) + "\n"
