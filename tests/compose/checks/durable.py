"""No confirmed message is lost: containers are replaced and killed, and come back."""
from engine import Failure, await_for
from traffic import COUNT, SECONDS


def kept(project, name, change):
    """Messages that wait in the broker are there after a change, and are done then."""
    project.compose("stop", "supervisor")
    project.traffic.publish(name, range(COUNT))
    change()
    project.up()
    return project.traffic.account(name, COUNT)


def recreate(project):
    """`up --force-recreate` keeps what waits in the broker."""
    return kept(project, "recreate", lambda: project.up("--force-recreate"))


def down_and_up(project):
    """`down` and `up` keep what waits in the broker."""
    return kept(project, "down", lambda: project.compose("down"))


def new_image(project):
    """A new image of the broker keeps what waits in it."""
    before = project.compose.container("rabbitmq")

    def change():
        project.images.renew(project.file["services"]["rabbitmq"]["image"])
        project.up()
        if project.compose.container("rabbitmq") == before:
            raise Failure("the broker's container is the same")
    return kept(project, "image", change)


def kill(project, service):
    """Kill PID 1 of a container under load. The engine starts it again, and nothing is lost."""
    name, container = f"kill-{service}", project.compose.container(service)
    killed = [0]
    publisher = "supervisor" if service == "publisher" else "publisher"
    seen = project.traffic.under_load(name, lambda: killed.append(project.kill(container)), publisher)
    await_for(f"{service} runs again", lambda: project.pid(container) not in killed, SECONDS)
    return seen


def kill_rabbitmq(project):
    """kill -9 of the broker under load."""
    return kill(project, "rabbitmq")


def kill_supervisor(project):
    """kill -9 of the supervisor under load."""
    return kill(project, "supervisor")


def kill_publisher(project):
    """kill -9 of the publisher under load."""
    return kill(project, "publisher")


def kill_page(project):
    """kill -9 of the page's relay under load."""
    return kill(project, "page")


CHECKS = (recreate, down_and_up, new_image, kill_rabbitmq, kill_supervisor, kill_publisher, kill_page)
