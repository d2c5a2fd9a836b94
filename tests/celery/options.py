"""Checks that the table of options in docs/celery.md has each option of the installed Celery's `celery worker` and of later ones, and
no other one. usage: options.py PAGE"""

import re
import sys

from celery.bin.celery import celery
from celery.bin.worker import worker

LATER = {"--disable-prefetch"},  # of 5.6


def options_of(page):
    section = page.split("\n## Options of `celery worker`\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    return {name for cell in cells for name in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", cell)}


def main(path):
    with open(path, encoding="utf-8") as file:
        described = options_of(file.read())
    of_celery = [*LATER, *(set(param.opts) for param in (*celery.params, *worker.params) if param.name != "version")]
    for names in of_celery:
        assert names & described, f"{path} lacks {', '.join(sorted(names))}"
    unknown = described - {"--help"}.union(*of_celery)
    assert not unknown, f"{path} has what is no option of celery worker: {', '.join(sorted(unknown))}"


main(*sys.argv[1:])
