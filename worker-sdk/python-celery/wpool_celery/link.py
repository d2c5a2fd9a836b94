"""A thread with a connection to the broker: it declares queues, answers remote control and sends events, and begins again when
the connection is lost. Meanwhile tasks go on."""

import os
import socket
import threading
from collections import deque

from celery.events.dispatcher import EventDispatcher
from celery.events.event import Event, group_from
from celery.utils.log import get_logger
from celery.utils.time import utcoffset
from celery.worker import control, state
from celery.worker.pidbox import Pidbox
from kombu import Producer

logger = get_logger(__name__)
PAUSE = 0.2  # seconds between two sendings of events
EVENTS_MAX, BATCH = 20_000, 500  # what waits while the broker is away; what goes into one message

control.Panel.data.update({name: lambda state, instead=instead, **_: {"error": f"wpool runs this worker: use {instead}"}
                           for name, instead in {
    "pool_grow": "wpool scale", "pool_shrink": "wpool scale", "pool_restart": "wpool restart", "shutdown": "wpool stop",
    "autoscale": "the pool's `workers: {min, max}` and wpool reload", "add_consumer": "a pool for that queue and wpool reload",
    "cancel_consumer": "wpool pause"}.items()})


def snapshot(requests):
    """Return as a set what another thread may change meanwhile."""
    while True:
        try:
            return set(requests)
        except RuntimeError:
            pass


class Events(EventDispatcher):
    """Any thread puts events in; the link sends them."""

    def __init__(self, **options):
        self.waiting = deque(maxlen=EVENTS_MAX)
        super().__init__(**options)

    def send(self, type, blind=False, utcoffset=utcoffset, retry=False, retry_policy=None, Event=Event, **fields):
        if self.enabled and (not self.groups or group_from(type) in self.groups):
            self.waiting.append(Event(type, hostname=self.hostname, utcoffset=utcoffset(), pid=self.pid,
                                      clock=self.clock.forward(), **fields))

    def flush(self, errors=True, groups=True):
        while self.waiting:
            batch = [self.waiting.popleft() for _ in range(min(len(self.waiting), BATCH))]
            tasks = [event for event in batch if group_from(event["type"]) == "task"]
            others = [event for event in batch if group_from(event["type"]) != "task"]
            try:
                for event in others:
                    self._put(event, event["type"].replace("-", "."))
                self._put(tasks, "task.multi")
            except Exception:
                self.waiting.extendleft(reversed(batch))
                raise

    def _put(self, body, key):
        if body:
            self.producer.publish(body, routing_key=key, exchange=self.exchange.name, declare=[self.exchange],
                                  serializer=self.serializer, headers=self.headers, delivery_mode=self.delivery_mode)


class Mailbox(Pidbox):
    def on_message(self, body, message):
        super().on_message(body, message)
        self.c.event_dispatcher.flush()
        self.c.pool.end_terminated()  # not before the sender has its reply, and others the event


class Link(threading.Thread):
    def __init__(self, consumer, has_mingle):
        super().__init__(name="wpool-celery-link", daemon=True)
        self._consumer, self._has_mingle, self._stopping = consumer, has_mingle, threading.Event()
        self.is_ready = threading.Event()  # the queues are declared, and what was revoked before is known

    def stop(self):
        self._stopping.set()
        self.join(5)

    def run(self):
        last = None
        while not self._stopping.is_set():
            try:
                self._serve()
            except Exception as error:
                if repr(error) != last:
                    logger.warning("wpool_celery: no events and no remote control, connecting again: %r", error)
                last = repr(error)
                self._stopping.wait(1)

    def _serve(self):
        consumer, conf = self._consumer, self._consumer.app.conf
        with consumer.app.connection_for_write(heartbeat=conf.broker_heartbeat) as consumer.connection:
            channel = consumer.connection.default_channel
            for queue in consumer.task_consumer.queues:
                queue(channel).declare()
            consumer.event_dispatcher.producer = Producer(channel, auto_declare=False)
            if conf.worker_enable_remote_control:
                mailbox = Mailbox(consumer)
                mailbox.node.state["tset"] = snapshot
                mailbox.start(consumer)
                self._mingle()
            self.is_ready.set()
            while not self._stopping.is_set():
                consumer.event_dispatcher.flush()
                consumer.connection.heartbeat_check()
                try:
                    consumer.connection.drain_events(timeout=PAUSE)
                except socket.timeout:
                    pass
            consumer.event_dispatcher.flush()

    def _mingle(self):
        """Ask the other workers, once, what was revoked before this one began; at most for a second."""
        if self._has_mingle and not self.is_ready.is_set():
            consumer = self._consumer
            everybody = int(os.environ.get("WPOOL_WORKERS", "0")) or None
            inspect = consumer.app.control.inspect(timeout=1.0, connection=consumer.connection, limit=everybody)
            for reply in filter(None, (inspect.hello(consumer.hostname, state.revoked._data) or {}).values()):
                consumer.app.clock.adjust(reply["clock"])
                state.revoked.update(reply["revoked"])
