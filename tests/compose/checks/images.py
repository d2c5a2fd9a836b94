"""What is in our images, and the images of samples/containers and samples/celery at work."""
import re
import shutil
import subprocess

from engine import NAME, OURS, ROOT, Failure, NotRun, await_for, docker, image_id, image_megabytes, inspect

SIZE_MAX = 110  # MB, of wpool
SECONDS = 120  # for anything to happen
NODE = "node:22-bookworm-slim"
LABEL = "org.opencontainers.image."

# The options of a hardened container, and a user that no image knows.
CONFINED = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "1234")

# In a container: print what is wrong with the environment of a wpool command, for another process of its user. The command
# is held in its loader, before it can protect itself: it writes more about its symbols than the pipe takes, and sleep does
# not read. The environment of sleep shows that the user can read that of other programs.
READ_ENVIRONMENT = """
mkfifo /tmp/log
sleep infinity </tmp/log &
sleep=$!
LD_DEBUG=all wpool --version 2>/tmp/log &
wpool=$!
until [ "$(cat /proc/$sleep/comm)" = sleep ] && [ "$(cat /proc/$wpool/comm)" = wpool ]; do :; done
grep -qz '^AMQP_URL=' /proc/$sleep/environ || echo 'the environment of sleep cannot be read'
! cat /proc/$wpool/environ 2>/dev/null || echo 'it can be read'
kill $wpool || echo 'the command has ended'
kill $sleep
"""


def run_in(image, *command, options=()):
    return docker("run", "--rm", *options, "--entrypoint", command[0], image, *command[1:])


def expect(what, found, wanted):
    if found != wanted:
        raise Failure(f"{what}: {found!r}, not {wanted!r}")


def image_contents(_):
    """The base image has the program and the library of workers in C, and nothing else of ours."""
    files = run_in(NAME, "sh", "-c", "find /usr/local /etc/wpool -type f 2>/dev/null; command -v python3 gcc; :").split()
    expect("files in wpool", sorted(files), ["/usr/local/bin/wpool", "/usr/local/lib/libwpool-worker.so.1"])
    if "libwpool-worker.so.1" not in run_in(NAME, "/sbin/ldconfig", "-p"):
        raise Failure("the loader does not find libwpool-worker.so.1")
    expect("ports", inspect(NAME, "{{json .Config.ExposedPorts}}"), '{"9464/tcp":{}}')
    return f"{len(files)} files of ours"


def image_size(_):
    sizes = ", ".join(f"{name} {image_megabytes(name):.0f} MB" for name in OURS)
    if image_megabytes(NAME) > SIZE_MAX:
        raise Failure(f"{sizes}; the limit of {NAME} is {SIZE_MAX}")
    return sizes


def layers(image):
    return inspect(image, "{{json .RootFS.Layers}}")


def image_labels(project):
    """The labels have the version and the revision, and another revision builds nothing."""
    name = project.images.build_target("wpool", project.compose.folder, "--build-arg", "REVISION=1234abcd")
    version = re.search(r"(?m)^VERSION := (\S+)", (ROOT / "Makefile").read_text())[1]
    for image, revision in ((name, "1234abcd"), (NAME, "unknown"), ("wpool:python", "unknown")):
        for label, wanted in (("version", version), ("revision", revision), ("licenses", "MIT"), ("title", "wpool")):
            expect(f"{label} of {image}", inspect(image, f'{{{{index .Config.Labels "{LABEL}{label}"}}}}'), wanted)
    expect("the layers with another revision", layers(name), layers(NAME))
    return f"version {version}, revision from the build"


def image_layers(project):
    """A change outside the program does not compile it again. A build without a target makes wpool."""
    changed = project.images.scratch / "changed"
    shutil.copytree(project.compose.folder, changed, symlinks=True)
    outside = ("README.md", "docs/operations.md", "docker-compose.yml", "samples/python/word_count.py", "samples/c/word_count.c",
               "samples/samples.mk", "samples/containers/c/shout.c", "tests/README.md", "tests/compose/run", "tools/lint",
               "worker-sdk/PROTOCOL.md", "worker-sdk/python/wpool_worker/task.py", "env/wpool.env")
    for path in outside:
        with open(changed / path, "a") as file:
            file.write("\n")
    build = project.images.build_target
    for target in ("build", "wpool", None):
        expect(f"the image of {target or 'no target'} after a change outside the program",
               image_id(build(target, changed)), image_id(build(target or "wpool", project.compose.folder)))
    size = ("stat", "--format", "%s", "/usr/local/share/wpool/samples/word_count.py")
    expect("the size of the changed sample", int(run_in(build("python", changed), *size)), int(run_in("wpool:python", *size)) + 1)
    return f"{len(outside)} files changed, the program was not compiled"


def image_secrets(_):
    """No process of the image's user reads the environment of a wpool command, which has the broker's password."""
    for user in ("wpool", "1234"):
        options = ("--user", user, "--env", "AMQP_URL=amqp://u:p@localhost")
        found = run_in(NAME, "timeout", str(SECONDS), "sh", "-c", READ_ENVIRONMENT, options=options)
        expect(f"the environment of a command of {user}", found, "")
    return "the environment of wpool commands cannot be read"


class Recipe:
    """The check that builds an image of samples/containers, or of another folder, and calls its worker."""

    def __init__(self, language, needs=None, folder=None, call=("wpool", "request", "--queue", "shout", "--wait", f"{SECONDS}s", "hello"),
                 reply="HELLO"):
        self.language, self.needs, self.folder = language, needs, folder or f"samples/containers/{language}"
        self.command, self.reply = call, reply
        self.__name__ = f"recipe_{language}"

    def __call__(self, project):
        if self.needs and not image_id(self.needs) and not project.images.pull(self.needs):
            raise NotRun(f"{self.needs} cannot be pulled here")
        name = f"shout-{self.language}:compose-test"
        project.images.claim(name)
        project.images.build("docker", "build", "--force-rm", "--tag", name, project.compose.folder / self.folder)
        folder = project.compose.folder
        options = ("--network", f"{project.compose.name}_default", "--env-file", folder / "env/wpool.env",
                   "--env-file", folder / "env/secrets/broker.env")
        container = docker("run", "--detach", *options, *CONFINED, name)
        try:
            self.call(container)
        except Failure as error:
            log = subprocess.run(["docker", "logs", "--tail", "20", container], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
            raise Failure(f"{error}\n{log.stdout}")
        finally:
            docker("rm", "--force", "--volumes", container)
        return f"answered, stopped, {image_megabytes(name):.0f} MB"

    def call(self, container):
        def is_ready():
            return subprocess.run(["docker", "exec", container, "wpool", "status"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode == 0
        await_for("the worker is ready", is_ready, SECONDS)
        expect("the reply", docker("exec", container, *self.command).splitlines()[-1], self.reply)
        docker("stop", "--time", "40", container)
        expect("the exit status after a stop", inspect(container, "{{.State.ExitCode}}"), "0")


CHECKS = (image_contents, image_size, image_labels, image_layers, image_secrets, Recipe("c"), Recipe("python"), Recipe("perl"),
          Recipe("go"), Recipe("node", needs=NODE),
          Recipe("celery", folder="samples/celery", call=("python3", "/usr/local/lib/shop/order.py"), reply="ended: TimeLimitExceeded(1,)"))
