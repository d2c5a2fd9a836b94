"""A small Celery application. It runs under `celery worker` and, unchanged, under wpool (docs/celery.md).

    cd samples/celery
    celery -A shop worker                    # under Celery, or
    wpool serve --config wpool.yaml          # under wpool, from the top of the repository: see wpool.yaml
    python3 shop.py                          # places an order and waits for its receipt
"""

import os

from celery import Celery

app = Celery("shop", broker=os.environ.get("AMQP_URL", "amqp://localhost"), backend=os.environ.get("SHOP_RESULTS", "rpc://"))
app.conf.task_default_queue = "shop"
PRICES = {"tea": 4.5, "cup": 12.0, "pot": 30.0}


@app.task(acks_late=True, time_limit=60)
def price(item, count):
    """May run twice, so it is acked when it is done."""
    return PRICES[item] * count


@app.task(bind=True, max_retries=5)
def charge(self, amount, customer):
    """Must not run twice, so it is acked before it begins, as Celery does by default."""
    if amount <= 0:
        raise self.retry(countdown=10)
    return f"{customer} pays {amount:.2f}"


def order(customer, items):
    """Return the result of charging a customer for {item: count}: each item has its price, and then their sum is charged."""
    prices = [price.apply_async((item, count)).get(timeout=30) for item, count in items.items()]
    return charge.delay(sum(prices), customer)


if __name__ == "__main__":
    print(order("Ada", {"tea": 10, "pot": 1}).get(timeout=30))
