"""A Debian in a folder, for scripts that test without Docker and without a second machine.

The packages come from the sources that this machine's apt uses for the same release. Mounts are private to the
processes that need them, so that nothing stays mounted, however a script ends.
"""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
NODE = ROOT / "tests/broker/node"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Run a command inside a root as its PID 1: sh -c ENTER enter ROOT USER FOLDER COMMAND...
ENTER = """set -e
root=$1 user=$2 folder=$3
shift 3
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
	: >"$root/dev/$name"
	mount --bind "/dev/$name" "$root/dev/$name"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
for name in hosts resolv.conf; do
	[ -e "$root/etc/$name" ] || : >"$root/etc/$name"
	mount --bind "/etc/$name" "$root/etc/$name"
done
exec chroot --userspec="$user" "$root" env -C "$folder" "$@"
"""


class Failure(Exception):
    pass


def say(text):
    print(text, flush=True)


def apt_sources(release):
    """Return this machine's own sources of the release as (repository, suite, component), the main one first."""
    output = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)",
                           "Created-By: Packages"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [line.split()[1:] for line in output.splitlines() if line.startswith("Debian ")]
    found = [source for source in found if source[1] == release or source[1].startswith(release + "-")]
    found.sort(key=lambda source: source[1] != release)
    if not found or found[0][1] != release:
        raise Failure(f"this machine's apt has no source of {release} (or no lists yet: apt-get update)")
    return found


def apt_settings():
    """Return the settings by which this machine reaches its sources, such as proxies."""
    output = subprocess.run(["apt-config", "dump"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line for line in output.splitlines() if re.match(r"Acquire::(https?|Check-|Retries)", line)]


def bootstrap(release, folder, log):
    sources = apt_sources(release)
    command = ["debootstrap", "--variant=minbase", release, folder, sources[0][0]]
    if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT).returncode != 0:
        raise Failure("debootstrap failed")
    lines = [f"deb {repository} {suite} {component}\n" for repository, suite, component in sources]
    (folder / "etc/apt/sources.list").write_text("".join(lines))
    (folder / "etc/apt/apt.conf.d/99machine").write_text("\n".join(apt_settings()) + "\n")


class Stage:
    started = []  # the processes of all stages

    def __init__(self, folder):
        self.folder = folder
        self.environment = {"PATH": PATH, "HOME": "/root"}
        self.workdir, self.user = "/", "0:0"
        self.entrypoint, self.command = [], []

    def inside(self, path):
        return self.folder / os.path.join(self.workdir, path).lstrip("/")

    def start(self, command, environment=None, **options):
        """Start a process inside, in its own namespaces. All that it starts ends with it, and it ends with this script."""
        enter = ["setpriv", "--pdeathsig", "KILL",
                 "unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
                 "sh", "-c", ENTER, "enter", str(self.folder), self.user, self.workdir]
        process = subprocess.Popen(enter + command, env={**self.environment, **(environment or {})},
                                   stdin=subprocess.DEVNULL, **options)
        self.started.append(process)
        return process

    @classmethod
    def end_all(cls):
        for process in cls.started:
            if process.poll() is None:
                process.kill()
                process.wait()


def start_node(folder):
    subprocess.run([NODE, "start", folder, "--owner", str(os.getpid())], check=True)
    pairs = (line.split("=", 1) for line in (folder / "env").read_text().splitlines())
    return dict(pairs)["AMQP_URL"]
