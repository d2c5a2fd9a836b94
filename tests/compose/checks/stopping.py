"""`stop` under load: tasks that are short, long, or ignore SIGTERM."""
from engine import Failure, await_for, inspect
from project import timed
from traffic import SECONDS

QUEUE = "slow"
WORKERS = 8


def stopped_under_load(project, name, seconds, mode, count):
    """Stop the supervisor while its workers have tasks. Return (seconds, exit status).

    The status is 75 if `drain` was over before the tasks were, and 137 if stop_grace_period was over before the stop was.
    """
    configure(project, seconds, mode)
    project.traffic.publish(name, range(count), QUEUE)
    container = project.compose.container("supervisor")
    await_for("each worker has a task", lambda: project.figure(container, QUEUE, "workers", "busy") == WORKERS, SECONDS)
    took = timed(lambda: project.compose("stop", "supervisor"))
    return took, int(inspect(container, "{{.State.ExitCode}}"))


def configure(project, seconds, mode="obedient"):
    """Serve one pool whose tasks take so long."""
    project.compose.files = ["tests/compose/slow/override.yml"]
    project.compose.environment.update(TASK_SECONDS=str(seconds), TASK_MODE=mode)
    project.up()


def finish(project, name, count):
    """Let the tasks that are left be done at once, and count. Then serve the samples again."""
    try:
        configure(project, 0)
        seen = project.traffic.account(name, count)
    finally:
        project.compose.files = []
        project.up()
    return seen


def stop_short(project):
    """Tasks of 50 ms: the stop repeats nothing."""
    seconds, status = stopped_under_load(project, "stop-short", 0.05, "obedient", 2000)
    seen = finish(project, "stop-short", 2000)
    if status != 0 or project.traffic.twice("stop-short"):
        raise Failure(f"exit status {status}, {seen}")
    return f"{seconds:.1f} s, exit 0; {seen}"


def stop_long(project):
    """Tasks of 20 s, shorter than `drain`: the stop waits for those that were begun, and repeats nothing."""
    seconds, status = stopped_under_load(project, "stop-long", 20, "obedient", 3 * WORKERS)
    seen = finish(project, "stop-long", 3 * WORKERS)
    if status != 0 or project.traffic.twice("stop-long"):
        raise Failure(f"exit status {status}, {seen}")
    return f"{seconds:.1f} s, exit 0; {seen}"


def stop_stubborn(project):
    """Tasks longer than `drain` in workers that ignore SIGTERM: cut short after it, and done later."""
    seconds, status = stopped_under_load(project, "stop-stubborn", 300, "stubborn", 3 * WORKERS)
    seen = finish(project, "stop-stubborn", 3 * WORKERS)
    if status != 75:
        raise Failure(f"exit status {status}, {seen}")
    return f"{seconds:.1f} s, exit 75; {seen}"


CHECKS = (stop_short, stop_long, stop_stubborn)
