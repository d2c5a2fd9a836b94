"""Publishes messages that are no tasks, or not quite. Each must be a dead letter at its first attempt, with its reason, and the next
task is worked."""

import zlib

import amqp
import orders
from kombu import Queue
from orders import app
from support import outcome, wait_until

BODY = b"[[1, 2], {}, {}]"
JSON = {"content_type": "application/json", "content_encoding": "utf-8"}


def headers(**changes):
    """Of a good task; a header that is None is left out."""
    return {name: value for name, value in {"lang": "py", "task": "orders.add", "id": "bad", **changes}.items() if value is not None}


# Its name: body, headers, properties; the status and a part of the reason.
MESSAGES = {
    "nothing": (b"", {}, {}, 400, "names no task"),
    "bytes": (b"\xff\x00", {}, {}, 415, "cannot be decoded"),
    "no id": (BODY, headers(id=None), JSON, 400, "KeyError('id')"),
    "no name": (BODY, headers(task=None), JSON, 400, "names no task"),
    "a name that is no text": (BODY, headers(task=["x"]), JSON, 400, "unhashable"),
    "unknown task": (BODY, headers(task="orders.unknown"), JSON, 404, "has no task 'orders.unknown'"),
    "unknown task without id": (BODY, headers(task="orders.unknown", id=None), JSON, 400, "no task of Celery"),
    "two elements": (b"[1, 2]", headers(), JSON, 400, "not enough values"),
    "a number": (b"1", headers(), JSON, 400, "TypeError"),
    "a text": (b'"abc"', headers(), JSON, 400, "no valid task"),
    "arguments that are no list": (b"[1, {}, {}]", headers(), JSON, 400, "a list and two maps"),
    "keywords that are no map": (b"[[1, 2], [3], {}]", headers(), JSON, 400, "a list and two maps"),
    "what follows is no map": (b"[[1, 2], {}, [1]]", headers(), JSON, 400, "a list and two maps"),
    "no JSON": (b"not json", headers(), JSON, 415, "cannot be decoded"),
    "half of a JSON": (BODY[:-3], headers(), JSON, 415, "cannot be decoded"),
    "an eta that is no time": (BODY, headers(eta="yesterday"), JSON, 400, "invalid ETA"),
    "an eta that is a number": (BODY, headers(eta=5), JSON, 400, "invalid ETA"),
    "expires that is no time": (BODY, headers(expires="never"), JSON, 400, "invalid expires"),
    "limits that are no numbers": (BODY, headers(timelimit=["a", "b"]), JSON, 400, "a time limit is a number"),
    "a limit below 0": (BODY, headers(timelimit=[-1, None]), JSON, 400, "a time limit is a number"),
    "a type that nobody knows": (BODY, headers(), {**JSON, "content_type": "application/x-unknown"}, 400, "x-unknown"),
    "a type that is not accepted": (BODY, headers(), {**JSON, "content_type": "application/x-msgpack"}, 400, "untrusted"),
    "broken pickle": (b"x" * 100, headers(), {"content_type": "application/x-python-serialize", "content_encoding": "binary"}, 415,
                      "cannot be decoded"),
    "broken compression": (b"\x80\x04", headers(compression="application/x-gzip"), JSON, 415, "cannot be decoded"),
    "half of a compression": (zlib.compress(BODY)[:-6], headers(compression="application/x-gzip"), JSON, 415, "cannot be decoded"),
    "unknown compression": (BODY, headers(compression="application/x-unknown"), JSON, 415, "cannot be decoded"),
    "a name that nobody has, with protocol 1": (b'{"task": "orders.unknown", "id": "bad"}', {}, JSON, 404, "has no task"),
    "protocol 1 without id": (b'{"task": "orders.add", "args": [1, 2]}', {}, JSON, 400, "no valid task"),
}
# Nonsense in what is ours; the task is good, and what says otherwise is not believed.
OURS = {"x-wpool-reason": 5, "x-wpool-exit": ["x"], "x-wpool-stderr": {"a": 1}, "x-wpool-status": "no"}


def main():
    expected = dict(MESSAGES)
    with app.connection_for_write() as connection:
        channel = connection.default_channel
        Queue(orders.QUEUE, channel=channel).queue_declare(passive=True)
        for name, (body, of_message, properties, *_) in MESSAGES.items():
            channel.basic_publish(amqp.Message(body, application_headers=of_message, correlation_id=name, **properties),
                                  routing_key=orders.QUEUE)
            assert outcome(orders.add.delay(2, 3)) == "SUCCESS 5", f"no task after {name}"
        channel.basic_publish(amqp.Message(BODY, application_headers={**headers(id="ours"), **OURS}, **JSON), routing_key=orders.QUEUE)
        assert outcome(app.AsyncResult("ours")) == "SUCCESS 3"
        wait_until(lambda: channel.queue_declare(orders.QUEUE + ".dead", passive=True).message_count >= len(MESSAGES), "dead letters")
        while message := channel.basic_get(orders.QUEUE + ".dead", no_ack=True):
            found, name = message.headers, message.properties["correlation_id"]
            *_, status, reason = expected.pop(name)
            seen = found["x-wpool-reason"], found["x-wpool-attempt"], found["x-wpool-status"]
            assert seen == ("rejected", 1, status), f"{name}: {seen}"
            assert reason in found["x-wpool-stderr"], f"{name}: {found['x-wpool-stderr']}"
    assert not expected, f"no dead letters: {list(expected)}"


main()
