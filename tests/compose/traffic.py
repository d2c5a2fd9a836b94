"""Numbered messages for tests/compose/run: published in a container, answered by a pool, counted by their replies.

A worker counts words and bytes, so that its reply has the number. A number without a reply is a lost message.
"""
import base64
import collections
import json
import subprocess
import time
import urllib.error
import urllib.request

from engine import Failure, await_for

COUNT, LOAD = 500, 5000  # messages of a check, and of one that acts under load
SECONDS = 180  # for anything to happen
QUEUE, REPLIES = "word_count", "compose-test.replies"
SHIPPED_PASSWORD = "wpool"


def message(number):
    words, size = divmod(number, 100)
    return "a " * words + "b" * (250 + size - 2 * words)


def number_of(reply):
    counts = json.loads(reply)
    return (counts["words"] - 1) * 100 + counts["bytes"] - 250


class Traffic:
    def __init__(self, compose):
        self.compose, self.password = compose, SHIPPED_PASSWORD
        self.counts = collections.defaultdict(collections.Counter)  # of the replies, by the name of a check

    def api(self, method, path, body=None, password=None):
        """Ask RabbitMQ's management. Return None while it does not answer, or refuses the login."""
        login = base64.b64encode(f"wpool:{password or self.password}".encode()).decode()
        request = urllib.request.Request(f"http://127.0.0.1:15672/api{path}", method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Basic {login}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or "true")
        except urllib.error.HTTPError as error:
            if error.code >= 500 or error.code in (401, 404):  # also before it has read the definitions
                return None
            raise Failure(f"{method} {path}: {error}")
        except (OSError, ValueError):
            return None

    def begin(self):
        path = f"/queues/%2F/{REPLIES}"
        await_for("RabbitMQ's management answers", lambda: self.api("PUT", path, {"durable": True}), SECONDS)

    def start(self, name, service="publisher", queue=QUEUE):
        """Start to publish from the container of a service."""
        return subprocess.Popen(
            ["docker", "exec", "-i", self.compose.container(service), "wpool", "publish", "--queue", queue, "--lines",
             "--reply-to", REPLIES, "--correlation-id", name, "--wait", f"{SECONDS}s"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    @staticmethod
    def feed(process, numbers):
        process.stdin.write("".join(message(number) + "\n" for number in numbers))
        process.stdin.flush()

    @staticmethod
    def end(process):
        """Wait until all is confirmed."""
        process.stdin.close()
        output = process.stdout.read()
        if process.wait() != 0:
            raise Failure(f"wpool publish ended with {process.returncode}: {output[-500:]}")

    def publish(self, name, numbers, queue=QUEUE):
        process = self.start(name, queue=queue)
        self.feed(process, numbers)
        self.end(process)

    def take(self, limit=5000):
        """Take the replies that are there. Return how many."""
        found = self.api("POST", f"/queues/%2F/{REPLIES}/get",
                         {"count": limit, "ackmode": "ack_requeue_false", "encoding": "auto"})
        for reply in found or []:
            self.counts[reply["properties"]["correlation_id"]][number_of(reply["payload"])] += 1
        return len(found or [])

    def await_reply(self, name):
        await_for(f"a reply of {name}", lambda: self.take(1) and self.counts[name], SECONDS)

    def under_load(self, name, act, service="publisher"):
        """Publish LOAD messages. Act when the first reply is there, half of them are published, and none of the others."""
        process = self.start(name, service)
        self.feed(process, range(LOAD // 2))
        self.await_reply(name)
        act()
        self.feed(process, range(LOAD // 2, LOAD))
        self.end(process)
        return self.account(name, LOAD)

    def between_loads(self, name, act):
        """The same with an act that ends the publisher: the second half has a publisher of its own."""
        self.publish(name, range(LOAD // 2))
        self.await_reply(name)
        act()
        self.publish(name, range(LOAD // 2, LOAD))
        return self.account(name, LOAD)

    def account(self, name, count):
        """Wait for all replies. Return a sentence on them; a number that does not come is a failure."""
        counts = self.counts[name]
        end = time.monotonic() + SECONDS
        while len(counts) < count and time.monotonic() < end:
            if not self.take():
                time.sleep(0.2)
        lost = set(range(count)) - set(counts)
        strange = set(counts) - set(range(count))
        if lost or strange:
            raise Failure(f"{count} confirmed, {len(lost)} lost: {sorted(lost)[:10]}, {len(strange)} never published")
        return f"{count} confirmed, 0 lost, {self.twice(name)} twice"

    def twice(self, name):
        return sum(number > 1 for number in self.counts[name].values())
