"""The Docker engine and its images, for tests/compose/run.

What was there before stays: an image that the engine has is used and not removed, and the name wpool is given back.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from debian_folder import Failure, bootstrap, say  # noqa: E402

# As the slim images of Debian: apt keeps nothing that it downloaded, and packages are installed without these files.
CLEAN = """DPkg::Post-Invoke {"rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin";};
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
"""
SLIM = """path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
"""
SLIM_FOLDERS = ("usr/share/info", "usr/share/locale", "usr/share/man", "var/cache/apt", "var/lib/apt/lists")
BASE, NAME = "debian:12-slim", "wpool:latest"
OURS = {NAME: "wpool", "wpool:python": "python", "wpool:dev": "dev"}  # the targets of our Dockerfile
SUBSTITUTES = {"rabbitmq": "rabbitmq", "prom/prometheus": "prometheus", "grafana/grafana": "grafana"}


class NotRun(Exception):
    """A check cannot run here."""


def run(*command, **options):
    """Return what the command prints to stdout. Its other output is shown if it fails."""
    options = {"stderr": subprocess.PIPE, **options}
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        output = done.stdout + (done.stderr or "")
        raise Failure(f"'{' '.join(map(str, command))}' ended with {done.returncode}:\n{output[-2000:]}")
    return done.stdout.strip()


def docker(*arguments, with_stderr=False, **options):
    if with_stderr:  # containers have two outputs, too
        options["stderr"] = subprocess.STDOUT
    return run("docker", *arguments, **options)


def inspect(name, template):
    return docker("inspect", "--format", template, name)


def find_compose():
    """Return the command that is Compose, or None."""
    for command in (["docker-compose"], ["docker", "compose"]):
        if shutil.which(command[0]) and subprocess.run([*command, "version"], stdout=subprocess.DEVNULL,
                                                      stderr=subprocess.DEVNULL).returncode == 0:
            return command
    return None


def await_for(what, probe, seconds, pause=0.2):
    """Ask probe until it returns something true, and return that."""
    end = time.monotonic() + seconds
    while True:
        if found := probe():
            return found
        if time.monotonic() > end:
            raise Failure(f"not within {seconds} s: {what}")
        time.sleep(pause)


def image_id(name):
    done = subprocess.run(["docker", "image", "inspect", "--format", "{{.Id}}", name], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def image_megabytes(name):
    return int(docker("image", "inspect", "--format", "{{.Size}}", name)) / 1e6


def is_substitute(name):
    return docker("image", "inspect", "--format", '{{index .Config.Labels "wpool.substitute"}}', name) == "yes"


class Images:
    """The images of a run. Those that it made are removed at its end."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.before = set(docker("images", "--all", "--quiet", "--no-trunc").split())
        self.tags, self.layers, self.moved = [], [], []
        self.count = 0
        self.log = scratch / "build.log"
        self.log.touch()

    def build(self, *command, **options):
        with open(self.log, "a") as log:
            done = subprocess.run([str(word) for word in command], stdout=log, stderr=subprocess.STDOUT, text=True, **options)
        if done.returncode != 0:
            raise Failure(f"'{' '.join(map(str, command))}' ended with {done.returncode}:\n{self.log.read_text()[-4000:]}")

    def make_base(self):
        folder = self.scratch / "debian"
        with open(self.scratch / "debootstrap.log", "w") as log:
            bootstrap("bookworm", folder, log)
        (folder / "etc/apt/apt.conf.d/docker-clean").write_text(CLEAN)
        (folder / "etc/dpkg/dpkg.cfg.d/docker").write_text(SLIM)
        for name in SLIM_FOLDERS:
            subprocess.run(["find", folder / name, "-mindepth", "1", "-delete"], check=True)
        subprocess.run(["find", folder / "usr/share/doc", "-type", "f", "-not", "-name", "copyright", "-delete"], check=True)
        tar = subprocess.Popen(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE)
        docker("import", "--change", 'CMD ["bash"]', "-", BASE, stdin=tar.stdout)
        tar.stdout.close()
        if tar.wait() != 0:
            raise Failure("tar failed")
        self.tags.append(BASE)
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)

    def provide(self, name):
        """Make a substitute for an image that the engine lacks."""
        if image_id(name):
            return
        started = time.monotonic()
        if name == BASE:
            self.make_base()
        else:
            self.tags.append(name)
            folder = ROOT / "tests/compose/images" / SUBSTITUTES[name.split(":")[0]]
            self.build("docker", "build", "--force-rm", "--tag", name, folder)
        say(f"{time.monotonic() - started:6.1f} s  a substitute for {name}, {image_megabytes(name):.0f} MB")

    def claim(self, name):
        """Before the name gets another image: at the end it means again what it means now."""
        if name in self.tags or name in (moved for _, moved in self.moved):
            return
        if before := image_id(name):
            self.moved.append((before, name))
        else:
            self.tags.append(name)

    def build_ours(self, compose):
        """Build what the compose file wants, then all targets."""
        for name in OURS:
            self.claim(name)
        compose("build", "--force-rm", builder=self)
        for name, target in OURS.items():
            self.build("docker", "build", "--force-rm", "--target", target, "--tag", name, compose.folder)

    def build_target(self, target, folder, *arguments):
        """Build a target of the tree in the folder, None for the one that is built without. Return a name for it."""
        self.count += 1
        name = f"wpool-compose-test:{target or 'default'}-{self.count}"
        self.claim(name)
        self.build("docker", "build", "--force-rm", "--tag", name, *(["--target", target] if target else []), *arguments, folder)
        return name

    def pull(self, name):
        """Return whether the name can be had from its registry."""
        self.claim(name)
        return subprocess.run(["docker", "pull", "--quiet", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def renew(self, name):
        """Give the name to another image with the same contents, as a new version would be."""
        self.claim(name)
        self.build("docker", "build", "--force-rm", "--tag", name, "-", input=f"FROM {name}\nLABEL renewed=yes\n")

    def remove(self):
        for before, name in self.moved:
            self.layers.append(image_id(name))
            docker("tag", before, name)
        for tag in reversed(self.tags):
            subprocess.run(["docker", "rmi", tag], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The older builder names the containers and images that it makes on the way. From the last image to the first:
        # one with others above it cannot be removed.
        log = self.log.read_text()
        for container in re.findall(r"---> Running in ([0-9a-f]{12})\b", log):
            subprocess.run(["docker", "rm", container], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for layer in reversed(self.layers + re.findall(r"---> ([0-9a-f]{12})\b", log)):
            if layer and (found := image_id(layer)) and found not in self.before:
                subprocess.run(["docker", "rmi", layer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Compose:
    """One project of the compose file in a folder."""

    def __init__(self, command, folder, name):
        self.command, self.folder, self.name = command, folder, name
        self.environment = dict(os.environ)
        self.profiles = []
        self.files = []  # beside docker-compose.yml

    def __call__(self, *arguments, builder=None):
        profiles = [word for profile in self.profiles for word in ("--profile", profile)]
        files = [word for file in ["docker-compose.yml", *self.files] for word in ("--file", file)]
        command = [*self.command, "--project-name", self.name, *files, *profiles, *arguments]
        options = {"cwd": self.folder, "env": self.environment}
        return builder.build(*command, **options) if builder else run(*command, **options)

    def containers(self, service):
        return self("ps", "--quiet", service).split()

    def container(self, service):
        """Return the container of a service that has one."""
        container, = self.containers(service)
        return container

    def end(self):
        """Remove all of the project: containers, networks and volumes."""
        self.profiles, self.files = ["metrics"], []
        self("down", "--volumes", "--remove-orphans", "--timeout", "20")

    def left(self):
        """Return what the engine still has of the project."""
        label = f"label=com.docker.compose.project={self.name}"
        return [line for kind in (["ps", "--all"], ["volume", "ls"], ["network", "ls"])
                for line in docker(*kind, "--quiet", "--filter", label).split()]


def engine_version():
    """Return the version of the engine, or None if none answers."""
    if not shutil.which("docker"):
        return None
    done = subprocess.run(["docker", "version", "--format", "{{json .Server.Version}}"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else None
