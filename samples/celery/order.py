"""Calls the tasks of the shop as any producer of Celery does, and prints what comes back: run it in this folder."""
import time

from celery import chain, group
from celery.exceptions import TimeLimitExceeded

import shop

WAIT = 60  # seconds


def main():
    print("price:", shop.price.delay("bread", 2).get(timeout=WAIT))
    print("with tax:", chain(shop.price.s("cheese"), shop.add_tax.s())().get(timeout=WAIT))
    print("basket:", group(shop.price.s(article) for article in shop.PRICES)().get(timeout=WAIT))
    print("retried:", shop.charge.delay("Alice", 504).get(timeout=WAIT))
    begun = time.monotonic()
    text = shop.remind.apply_async(("Bob",), countdown=2).get(timeout=WAIT)
    print("later:", text if time.monotonic() - begun >= 2 else f"too early: {text}")
    try:
        shop.print_label.delay(600).get(timeout=WAIT)
    except TimeLimitExceeded as error:
        print("ended:", error)


if __name__ == "__main__":
    main()
