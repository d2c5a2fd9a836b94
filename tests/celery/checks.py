"""Checks that one script makes by itself. usage: checks.py NAME [ARGUMENT...]. What it prints is compared where both workers are
asked; an AssertionError fails the test."""

import os
import signal
import sys
import threading
import time

import orders
from celery.events.receiver import EventReceiver
from kombu import Consumer, Queue
from orders import app
from support import PATIENCE, outcome, wait_until


def trailed(text):
    return [line.split() for line in open(orders.TRAIL, encoding="utf-8") if text in line]


def ask(command, *arguments, nodes=1, **options):
    """Return the answers to a remote control command, by node. Some worker may be starting."""
    replies = []

    def has_all():
        replies[:] = app.control.broadcast(command, arguments=options or None, reply=True, timeout=2, limit=nodes) or []
        return len(replies) >= nodes

    wait_until(has_all, f"{nodes} answers to {command}")
    return {name: value for reply in replies for name, value in reply.items()}


# Signals.


def signals_of_tasks():
    """Each task is over, its last signal too, before the next begins."""
    for task, arguments, ends in ((orders.add, (1, 2), 1), (orders.fails, ("x",), 2), (orders.retries, (1, 0.1), 4)):
        outcome(task.delay(*arguments))
        wait_until(lambda: len(trailed("signal task_postrun")) >= ends, "the end of a task")
    outcome(app.send_task("orders.no_such_task"))
    wait_until(lambda: trailed("signal task_unknown"), "the end of an unknown task")


def django():
    """A connection to the database is closed when its task is over, in the same process."""
    print([outcome(orders.finds_connection.delay()) for _ in range(3)])


# Events.


class Watcher(threading.Thread):
    """Collects the events of tasks and how many came together."""

    def __init__(self):
        super().__init__(daemon=True)
        self.events, self.batches, self.is_listening = [], [], threading.Event()
        self.start()

    def run(self):
        with app.connection_for_read() as connection:
            receiver = EventReceiver(connection, app=app)
            queue = receiver.queue(connection.default_channel)
            queue.declare()
            with Consumer(connection.default_channel, [queue], accept=["json"], no_ack=True, on_message=self.on_message):
                self.is_listening.set()
                while True:
                    try:
                        connection.drain_events(timeout=1)
                    except OSError:
                        pass

    def on_message(self, message):
        body = message.payload if isinstance(message.payload, list) else [message.payload]
        self.batches.append(len(body))
        self.events += body

    def of(self, uuid):
        return [event["type"] for event in self.events if event.get("uuid") == uuid]

    def await_of(self, uuid, last):
        wait_until(lambda: last in self.of(uuid), f"{last} of a task")
        return " ".join(self.of(uuid))


def watcher():
    watch = Watcher()
    assert watch.is_listening.wait(PATIENCE)
    return watch


def events():
    watch = watcher()
    for task, arguments, last in ((orders.add, (1, 2), "task-succeeded"), (orders.fails, ("x",), "task-failed")):
        print(task.name, watch.await_of(task.delay(*arguments).id, last))
    result = orders.retries.delay(1, 0.1)
    # Celery's main process may receive the second one before the other process has told the end of the first.
    print("retries", *sorted(watch.await_of(result.id, "task-succeeded").split()))
    result = orders.sleeps.delay(600)
    watch.await_of(result.id, "task-started")
    result.revoke(terminate=True)
    print("terminated", watch.await_of(result.id, "task-revoked"))
    wait_until(lambda: any(event["type"] == "worker-heartbeat" for event in watch.events), "a heartbeat")


def events_are_batched():
    watch = watcher()
    results = [orders.add.delay(1, 2) for _ in range(500)]
    for result in results:
        watch.await_of(result.id, "task-succeeded")
    assert len(watch.batches) < len(watch.events) / 3, watch.batches


def no_events_by_default():
    """Until somebody enables them. What is sent comes in order, so a heartbeat that came later shows that none is on its way."""
    watch = watcher()
    result = orders.add.delay(1, 2)
    outcome(result)
    watch.events.clear()
    wait_until(lambda: any(event["type"] == "worker-heartbeat" for event in watch.events), "a heartbeat")
    assert not watch.of(result.id)
    print(sorted(map(str, ask("enable_events").values()))[0])
    print(watch.await_of(orders.add.delay(1, 2).id, "task-succeeded"))
    print(sorted(map(str, ask("disable_events").values()))[0])


# Remote control.


def inspect():
    busy = orders.sleeps.delay(600)
    wait_until(lambda: trailed(f"begun {busy.id}"), "the running task")
    app.control.revoke("some-id", reply=True, timeout=2)
    answers = {name: ask(name) for name in ("ping", "registered", "clock", "conf", "report", "stats", "active_queues", "reserved", "memsample")}
    print("ping", answers["ping"].popitem()[1])
    print("registered", answers["registered"].popitem()[1])
    # The adapter has these two for itself: publishing is confirmed, and no file remembers what was revoked.
    print("conf", sorted(set(answers["conf"].popitem()[1]) - {"broker_transport_options", "worker_state_db"}))
    print("active_queues", [queue["name"] for queue in answers["active_queues"].popitem()[1]])
    assert isinstance(answers["clock"].popitem()[1]["clock"], int)
    assert "celery" in answers["report"].popitem()[1]["ok"]
    stats = answers["stats"].popitem()[1]
    assert {"pid", "total", "pool", "rusage", "uptime"} <= set(stats) and stats["prefetch_count"] >= 1
    print("stats", sorted(item for item in stats["broker"].items() if item[0] != "transport_options"))
    print("active", [task["id"] == busy.id for tasks in ask("active").values() for task in tasks])
    print("query_task", [value[busy.id][0] for value in ask("query_task", ids=[busy.id]).values() if value])
    print("revoked", sorted({name for names in ask("revoked").values() for name in names}))
    print("rate_limit", ask("rate_limit", task_name="orders.add", rate_limit="1/h").popitem()[1])
    print("rate_limit", ask("rate_limit", task_name="orders.add", rate_limit=0).popitem()[1])
    print("rate_limit", ask("rate_limit", task_name="orders.nothing_like_it", rate_limit="1/h").popitem()[1])
    print("time_limit", ask("time_limit", task_name="orders.add", hard=5, soft=3).popitem()[1])
    print("no such command", list(ask("no_such_command").values()))
    busy.revoke(terminate=True)
    print(outcome(busy))


def commands_of_wpool():
    for command, options in (("pool_grow", {"n": 1}), ("pool_shrink", {"n": 1}), ("pool_restart", {}), ("autoscale", {"max": 3, "min": 1}),
                             ("add_consumer", {"queue": "other"}), ("cancel_consumer", {"queue": "other"}), ("shutdown", {})):
        answer = ask(command, nodes=4, **options)
        assert len(answer) == 4 and all("wpool" in value["error"] for value in answer.values()), answer
    print(sorted(ask("ping", nodes=4)))


def scheduled_waits_in_the_broker():
    result = orders.add.apply_async((1, 1), countdown=600)
    wait_until(lambda: not any(ask("scheduled", nodes=4).values()), "an empty schedule")
    result.revoke()


def pids():
    return {stats["pid"] for stats in ask("stats", nodes=4).values()}


def revoked_is_remembered():
    """By those that live, for those that come after the ones that heard it."""
    result = orders.add.apply_async((1, 1), countdown=10)
    ask("revoke", nodes=4, task_id=result.id)
    before = sorted(pids())
    for pid in before[:3]:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(pids() - set(before)) == 3, "three new workers")
    revoked = ask("revoked", nodes=4)
    assert all(result.id in names for names in revoked.values()), revoked
    print(outcome(result))


def limits_by_control():
    """They hold for the next task. (Celery 5.2 has them in the same way, and does not look at them: it has copied the old ones.)"""
    for limits in ({"soft": 0.5, "hard": 20}, {"hard": 1}):
        ask("time_limit", nodes=4, task_name="orders.sleeps", **limits)
        print(outcome(orders.sleeps.delay(600)))


def ends_softly():
    """revoke(terminate=True, signal="SIGUSR1") ends a task and not its process."""
    result = orders.sleeps.delay(600)
    wait_until(lambda: trailed(f"begun {result.id}"), "the task")
    before = pids()
    result.revoke(terminate=True, signal="SIGUSR1")
    wait_until(lambda: not any(ask("active", nodes=4).values()), "the end of the task")
    assert pids() == before
    print(outcome(orders.add.delay(1, 2)))


def ends_alone():
    """What waits behind a task that is terminated runs, and loses no attempt. Only the one worker knows that it was revoked."""
    for task in (orders.sleeps, orders.counted_late, orders.counted_safe):
        result = task.delay(600)
        wait_until(lambda: trailed(f"begun {result.id}"), "the task")
        others = [orders.itself.delay() for _ in range(5)]
        result.revoke(terminate=True)
        print(outcome(result), *[other.get(timeout=PATIENCE)["again"] for other in others], len(trailed(f"begun {result.id}")))
    assert outcome(result).endswith("terminated"), "an end that is told once"


def fails_and_dies():
    for result in (orders.fails.delay("ouch"), orders.soft_limited.delay(600), orders.dies_early.delay("SIGKILL"),
                   orders.hard_limited.delay(600)):
        outcome(result)


def name_of_node():
    print(*ask("ping"))


# Order and pace.


def rate_limit():
    begin = time.time()
    results = [orders.limited.delay(number) for number in range(8)]
    print([result.get(timeout=PATIENCE) for result in results])
    starts = sorted(float(line[1]) for line in trailed("limited "))
    # The rate is 5 a second. The clocks are the same; what is late makes nothing early.
    assert all(start >= begin + index * 0.2 for index, start in enumerate(starts)), [start - begin for start in starts]


def priority():
    gate = orders.TRAIL + ".gate"
    first = orders.waits.delay(gate)
    wait_until(lambda: trailed(f"begun {first.id}"), "the first task")
    # One is already on its way to the worker when the others come.
    results = [orders.notes.apply_async((f"p{priority}",), priority=priority) for priority in (9,) + (0, 5, 9) * 5]
    with app.connection_for_read() as connection:
        queue = Queue(orders.QUEUE, channel=connection.default_channel)
        wait_until(lambda: queue.queue_declare(passive=True).message_count >= len(results) - 1, "all messages in the queue")
    open(gate, "w", encoding="utf-8").close()
    for result in results:
        result.get(timeout=PATIENCE)
    print(" ".join(line[1] for line in trailed("note ")))


# Settings of the application.


def replaced_after_tasks():
    """Four processes that do five tasks each."""
    results = [orders.process.delay() for _ in range(60)]
    print(len({result.get(timeout=PATIENCE) for result in results}) > 8)


def replaced_if_it_grows():
    grown = orders.grows.delay(200 << 20).get(timeout=PATIENCE)
    wait_until(lambda: not os.path.exists(f"/proc/{grown}"), "the end of the process that has grown")
    print(outcome(orders.add.delay(1, 2)))


def limits_of_the_application():
    print(outcome(orders.sleeps.delay(600)))


# What is away comes back.


def outage(gate, *states_allowed):
    """Tasks of each kind of ack are running and waiting while the test damages something, until the gate opens. None is forgotten."""
    running = [task.apply_async((0.01,), countdown=0.2 * number) for number in range(10)
               for task in (orders.counted_early, orders.counted_late)]
    held = [orders.waits.delay(gate) for _ in range(2)]
    wait_until(lambda: all(trailed(f"begun {result.id}") for result in held), "the held tasks")
    orders.trail("ready")
    wait_until(lambda: os.path.exists(gate), "the gate")
    states = [outcome(result, PATIENCE) for result in running + held]
    assert all(state.split()[0] in states_allowed for state in states), states


def comes_back():
    """After an outage: events and remote control."""
    watch = watcher()
    ask("ping", nodes=4)
    watch.await_of(orders.add.delay(1, 2).id, "task-succeeded")
    wait_until(lambda: any(event["type"] == "worker-heartbeat" for event in watch.events), "a heartbeat")


def add():
    print(outcome(orders.add.delay(2, 3)))


def later(seconds):
    """Due then; the test calls `is_due` after it has restarted everything."""
    eta = time.time() + float(seconds)
    far = orders.add.apply_async((1, 1), countdown=3 * 86400)
    near = orders.due.apply_async((eta,), countdown=float(seconds))
    orders.trail("sent", near.id, far.id)


def is_due():
    _, near, far = trailed("sent ")[0]
    late = app.AsyncResult(near).get(timeout=PATIENCE)
    assert late >= 0, late
    print(app.AsyncResult(far).state)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
