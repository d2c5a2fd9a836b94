"""The settings of a Django project whose application is orders.py. Connections are for one request, as by default."""

import os

SECRET_KEY = "of the tests"
USE_TZ = True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["ORDERS_TRAIL"] + ".sqlite"}}
