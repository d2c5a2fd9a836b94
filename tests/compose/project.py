"""The running project, as the checks of tests/compose/run see it: its containers, pools, page and broker."""
import json
import os
import pathlib
import signal
import time
import urllib.request

import yaml

from engine import BASE, OURS, Failure, await_for, docker, inspect, is_substitute, say
from traffic import SECONDS

PAGE = "http://127.0.0.1:9464"
SECRET = "env/secrets/broker.env"


def get_json(url):
    """Return what the address answers, or None while it answers nothing."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


class Project:
    def __init__(self, compose, images, traffic):
        self.compose, self.images, self.traffic = compose, images, traffic
        self.file = yaml.safe_load((compose.folder / "docker-compose.yml").read_text())
        self.substitutes = set()

    def provide_images(self):
        names = [BASE] + [service["image"] for service in self.file["services"].values()]
        for name in dict.fromkeys(names):
            if name not in OURS:
                self.images.provide(name)
                if is_substitute(name):
                    self.substitutes.add(name)

    def up(self, *arguments):
        """Start the services. Where another program uses a port of the file for a while, wait until it is free."""
        def try_up():
            try:
                self.compose("up", "--detach", *arguments)
                return True
            except Failure as error:
                if "address already in use" not in str(error):
                    raise
                say("       a port of the file is in use, waiting")
        await_for("the ports of docker-compose.yml are free", try_up, SECONDS)

    def is_up(self):
        return bool(self.compose.containers("supervisor")) and self.traffic.api("GET", "/whoami") is not None

    def running(self):
        """Return the services that have a container."""
        return [service for service in self.file["services"] if self.compose.containers(service)]

    def pid(self, container):
        """Return the number of the container's PID 1 on this machine; 0: it does not run."""
        return int(inspect(container, "{{.State.Pid}}"))

    def kill(self, container):
        """Kill PID 1 of a container, and never a process that has got its number. Return the number."""
        pid = self.pid(container)
        if pid == 0:
            raise Failure(f"the container {container} does not run")
        held = os.pidfd_open(pid)
        try:
            if self.pid(container) != pid:
                raise Failure(f"the container {container} was started again meanwhile")
            signal.pidfd_send_signal(held, signal.SIGKILL)
        finally:
            os.close(held)
        return pid

    def status_of(self, container):
        """Return what `docker ps` shows of a container, such as 'Up 2 minutes (healthy)'."""
        return docker("ps", "--all", "--filter", f"id={container}", "--format", "{{.Status}}")

    def await_status(self, container, word):
        await_for(f"docker ps shows {word}", lambda: word in self.status_of(container), SECONDS)

    def await_all_ready(self, count):
        """Wait until each pool of each supervisor has this many workers. Return how many pools there are."""
        return await_for(f"{count} workers are ready in each pool", lambda: self.pools_if_ready(count), SECONDS)

    def pools_if_ready(self, count):
        pools = []
        for container in self.compose.containers("supervisor"):
            pools += (get_json(f"http://{self.address(container)}:9464/v1/pools") or {}).get("pools") or [None]
        return len(pools) if pools and all(pool and pool["workers"]["ready"] == count for pool in pools) else None

    @staticmethod
    def address(container):
        """Return the container's address in the project's network, which this machine reaches, too."""
        return inspect(container, "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")

    def figure(self, container, pool, *path):
        """Return a number of a pool, such as ("tasks", "done")."""
        found = get_json(f"http://{self.address(container)}:9464/v1/pools?pool={pool}")
        for name in ("pools", 0, *path):
            found = found[name]
        return found

    def write_password(self, password):
        """Write a password as an editor does: beside the old file, which is then replaced."""
        secret = self.compose.folder / SECRET
        new = secret.with_suffix(".new")
        new.write_text(f"RABBITMQ_PASSWORD={password}\n")
        new.rename(secret)

    def change_password(self, password):
        self.write_password(password)
        self.up()
        self.traffic.password = password
        self.traffic.begin()


def timed(act):
    started = time.monotonic()
    act()
    return time.monotonic() - started


def here(name):
    return pathlib.Path(__file__).resolve().parent / name
