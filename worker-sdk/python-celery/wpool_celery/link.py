"""One thread with one connection to the broker: declares queues, answers remote control, sends events. It begins again when
the connection is lost; meanwhile tasks go on."""

import os
import socket
import threading
from collections import deque

from celery.events.dispatcher import EventDispatcher
from celery.events.event import Event, group_from
from celery.utils.time import utcoffset
from celery.worker import control, state
from celery.worker.pidbox import Pidbox
from kombu import Producer
from wpool_worker.errors import log_error

PAUSE = 0.2  # seconds between two sendings of events
WAITING_MAX = 20_000  # events that are kept while the broker is away
BATCH = 500

_INSTEAD = {
    "pool_grow": "wpool scale POOL N", "pool_shrink": "wpool scale POOL N", "pool_restart": "wpool restart POOL",
    "autoscale": "the pool's setting `workers: {min, max}`, and wpool reload", "shutdown": "wpool stop",
    "add_consumer": "a pool for that queue, and wpool reload", "cancel_consumer": "wpool pause POOL",
}


def _refusal(instead):
    return lambda state, **arguments: {"error": f"this worker is run by wpool: use {instead}"}


control.Panel.data.update({name: _refusal(instead) for name, instead in _INSTEAD.items()})


def snapshot(requests):
    """Return a set of what another thread may change meanwhile."""
    while True:
        try:
            return set(requests)
        except RuntimeError:
            continue


class Events(EventDispatcher):
    """Collects events from any thread; the link sends them."""

    def __init__(self, **options):
        self.waiting = deque(maxlen=WAITING_MAX)
        super().__init__(**options)

    def send(self, type, blind=False, utcoffset=utcoffset, retry=False, retry_policy=None, Event=Event, **fields):
        if self.enabled and (not self.groups or group_from(type) in self.groups):
            self.waiting.append(Event(type, hostname=self.hostname, utcoffset=utcoffset(), pid=self.pid,
                                      clock=self.clock.forward(), **fields))

    def flush(self, errors=True, groups=True):
        """Of the link's thread: send what waits, events of tasks together, as Celery's own worker does."""
        while self.waiting:
            batch = [self.waiting.popleft() for _ in range(min(len(self.waiting), BATCH))]
            try:
                self._publish_batch(batch)
            except Exception:
                self.waiting.extendleft(reversed(batch))
                raise

    def _publish_batch(self, batch):
        tasks = []
        for event in batch:
            if group_from(event["type"]) == "task":
                tasks.append(event)
            else:
                self._put(event, event["type"].replace("-", "."))
        if tasks:
            self._put(tasks, "task.multi")

    def _put(self, body, routing_key):
        self.producer.publish(body, routing_key=routing_key, exchange=self.exchange.name, declare=[self.exchange],
                              serializer=self.serializer, headers=self.headers, delivery_mode=self.delivery_mode)


class Mailbox(Pidbox):
    """Celery's remote control. A command may end this process: not before its sender has the reply."""

    def __init__(self, consumer):
        super().__init__(consumer)
        self.node.state["tset"] = snapshot

    def on_message(self, body, message):
        super().on_message(body, message)
        if self.c.controller._persistence and body.get("method") in ("revoke", "terminate"):
            self.c.controller._persistence.sync()
        self.c.pool.end_terminated()


class Link(threading.Thread):
    def __init__(self, consumer, has_control, has_mingle):
        super().__init__(name="wpool-celery-link", daemon=True)
        self._consumer, self._has_control, self._has_mingle = consumer, has_control, has_mingle
        self._stopping = threading.Event()
        self.is_ready = threading.Event()  # the queues are declared, and what was revoked before is known

    def stop(self):
        """Send the last events, if the broker is there."""
        self._stopping.set()
        self.join(5)

    def run(self):
        last = None
        while not self._stopping.is_set():
            try:
                self._serve()
            except Exception as error:
                if repr(error) != last:
                    log_error(f"wpool_celery: events and remote control: {error!r}; connecting again")
                last = repr(error)
            self._stopping.wait(1)

    def _serve(self):
        consumer = self._consumer
        with consumer.app.connection_for_write(heartbeat=consumer.app.conf.broker_heartbeat) as connection:
            connection.connect()
            consumer.connection = connection
            for queue in consumer.task_consumer.queues:
                queue(connection.default_channel).declare()
            if self._has_control:
                Mailbox(consumer).start(consumer)
                self._mingle(connection)
            self.is_ready.set()
            consumer.event_dispatcher.producer = Producer(connection.default_channel, auto_declare=False)
            while not self._stopping.is_set():
                consumer.event_dispatcher.flush()
                connection.heartbeat_check()
                try:
                    connection.drain_events(timeout=PAUSE)
                except socket.timeout:
                    pass
            consumer.event_dispatcher.flush()

    def _mingle(self, connection):
        """Learn from the other workers what was revoked before this one began, once."""
        if self._has_mingle and not self.is_ready.is_set():
            inspect = self._consumer.app.control.inspect(
                timeout=1.0, connection=connection, limit=int(os.environ.get("WPOOL_WORKERS", "0")) or None)
            replies = inspect.hello(self._consumer.hostname, state.revoked._data) or {}
            for reply in filter(None, replies.values()):
                self._consumer.app.clock.adjust(reply.get("clock") or 0)
                state.revoked.update(reply.get("revoked") or {})
