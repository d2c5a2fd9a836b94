"""A Celery application, which knows nothing of wpool: `celery -A shop worker` runs it, and so does wpool.yaml beside it.

The broker's address is in AMQP_URL, or RABBITMQ_HOSTNAME and its like, as docker-compose.yml sets them. Results go through the
broker, or to the backend in SHOP_RESULTS, such as redis://localhost.
"""
import os
import time
from urllib.parse import quote

from celery import Celery
from celery.utils.log import get_task_logger


def broker_url(env):
    if "RABBITMQ_HOSTNAME" in env:
        return f"amqp://{env['RABBITMQ_USERNAME']}:{quote(env['RABBITMQ_PASSWORD'], '')}@{env['RABBITMQ_HOSTNAME']}//"
    return env.get("AMQP_URL", "amqp://guest:guest@localhost//")


app = Celery("shop", broker=broker_url(os.environ), backend=os.environ.get("SHOP_RESULTS", "rpc://"))
app.conf.update(task_default_queue="shop", result_expires=3600)

PRICES = {"apple": 30, "bread": 250, "cheese": 420}  # in cents
log = get_task_logger(__name__)


@app.task
def price(article, count=1):
    return PRICES[article] * count


@app.task
def add_tax(amount, percent=20):
    return amount + amount * percent // 100


@app.task(bind=True, max_retries=3)
def charge(self, customer, amount):
    """The bank cannot be reached at the first attempt."""
    if self.request.retries == 0:
        log.info("the bank does not answer, trying again")
        raise self.retry(countdown=1)
    return f"{customer} has paid {amount / 100:.2f}"


@app.task
def remind(customer):
    return f"{customer}: your basket is waiting"


@app.task(time_limit=1)
def print_label(seconds):
    """A printer that may hang."""
    time.sleep(seconds)
    return "printed"
