#!/usr/bin/python3
"""Waits for HTTP, many tasks at once: the body is a URL, the reply is the document there, with its content type. For a pool
with `concurrency`, for example 200. It needs aiohttp (Debian: python3-aiohttp).

A text that is no http or https URL is rejected (400), a document over 16 MiB too (413). If the server cannot be reached or
answers with an error, the task has failed (502) and is retried; the same after 30 s or the task's TimeoutMilliseconds
(504). A task that is cancelled closes its connection."""

import asyncio
import sys
from pathlib import Path

import aiohttp
from yarl import URL

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import Fail, Reject, Reply, run  # noqa: E402

TIMEOUT_SECONDS = 30
DOCUMENT_MAX = 16 << 20
NOT_A_URL = 400
TOO_LARGE = 413
NOT_FETCHED = 502
TOO_LATE = 504


def read_url(text):
    """Return the URL; None if it is none that can be fetched."""
    try:
        url = URL(text.strip())
        host = url.raw_host or ""
        host.encode("idna")
        is_sound = url.scheme in ("http", "https") and host and host.isprintable() and " " not in host
    except ValueError:
        return None
    return url if is_sound else None


async def read_document(response):
    """Return what the server sends; None if it is too large."""
    document = bytearray()
    async for part in response.content.iter_any():
        document += part
        if len(document) > DOCUMENT_MAX:
            return None
    return bytes(document)


class Fetch:
    """A handler that keeps its connections."""

    async def __aenter__(self):
        # The pool's `concurrency` is the limit.
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def __aexit__(self, *error):
        await self.session.close()

    async def __call__(self, task):
        url = read_url(task.text) if task.is_text else None
        if url is None:
            return Reject(NOT_A_URL)
        seconds = TIMEOUT_SECONDS if task.remaining is None else min(task.remaining, TIMEOUT_SECONDS)
        try:
            return await asyncio.wait_for(self.fetch(url), seconds)
        except asyncio.TimeoutError:
            return Fail(TOO_LATE)
        except (aiohttp.ClientError, OSError) as error:
            print(f"task {task.id}: {error!r}", file=sys.stderr)
            return Fail(NOT_FETCHED)

    async def fetch(self, url):
        async with self.session.get(url) as response:
            response.raise_for_status()
            document = await read_document(response)
            if document is None:
                return Reject(TOO_LARGE)
            kind = response.headers.get("Content-Type", "application/octet-stream")
            return Reply(document, headers={"content-type": kind})


if __name__ == "__main__":
    sys.exit(run(Fetch()))
