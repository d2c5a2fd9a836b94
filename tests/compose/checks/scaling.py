"""Several supervisors share the work."""
from engine import Failure, await_for
from project import PAGE, get_json
from traffic import QUEUE, SECONDS


def scale(project):
    """Two supervisors share the load. One is killed, and nothing is lost. The page keeps its address."""
    project.up("--scale", "supervisor=2")
    try:
        seen = shared_load(project)
    finally:
        project.up("--scale", "supervisor=1")
    return seen


def shared_load(project):
    project.await_all_ready(4)
    containers = project.compose.containers("supervisor")
    killed = [0]
    shares = {}

    def kill_one():
        await_for("both supervisors work", lambda: all(
            project.figure(container, QUEUE, "totals", "done") for container in containers), SECONDS)
        shares.update({container: project.figure(container, QUEUE, "totals", "done") for container in containers})
        killed.append(project.kill(containers[0]))
        if not await_for("the page answers", lambda: get_json(f"{PAGE}/v1/status"), SECONDS):
            raise Failure("the page has no status")
    seen = project.traffic.under_load("scale", kill_one)
    await_for("the killed supervisor runs again", lambda: project.pid(containers[0]) not in killed, SECONDS)
    project.await_all_ready(4)
    return f"{seen}; done before the kill: {' and '.join(map(str, shares.values()))}"


CHECKS = (scale,)
