#!/usr/bin/python3
"""Waits for HTTP, many tasks at once: the body is a URL (http or https), and the reply is what it refers to. As many
transfers at once as the pool's `concurrency`. It needs aiohttp (Debian: python3-aiohttp).

An HTTP status of 400 to 499 rejects the task (but 408 and 429, which may pass), and so does a bad URL (400) or a body over
16 MiB (413); 502: the transfer failed; 504: it took longer than 30 s, or than the task's TimeoutMilliseconds. A cancelled
task has failed (500). It fetches whatever it is asked for: decide who may publish to its queue."""

import asyncio
import sys
from pathlib import Path

import aiohttp
from yarl import URL

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker-sdk" / "python"))

from wpool_worker import Fail, Reject, run  # noqa: E402

TIMEOUT_SECONDS = 30
BODY_MAX = 16 << 20
REDIRECTS = 5
BAD_URL, TOO_LARGE, BAD_GATEWAY, GATEWAY_TIMEOUT = 400, 413, 502, 504
MAY_PASS = (408, 429)


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


async def answer(response):
    if 400 <= response.status < 500 and response.status not in MAY_PASS:
        return Reject(response.status)
    if response.status >= 400:
        return Fail(BAD_GATEWAY)
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        if len(body) > BODY_MAX:
            return Reject(TOO_LARGE)
    return body


class Fetch:
    """A handler that keeps its connections."""

    async def __aenter__(self):
        # The pool's `concurrency` is the limit, and tasks share no cookies.
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar())

    async def __aexit__(self, *error):
        await self.session.close()

    async def __call__(self, task):
        url = read_url(task.text) if task.is_text else None
        if url is None:
            return Reject(BAD_URL)
        seconds = TIMEOUT_SECONDS if task.remaining is None else min(task.remaining, TIMEOUT_SECONDS)
        try:
            return await asyncio.wait_for(self.fetch(url), seconds)
        except asyncio.TimeoutError:
            return Fail(GATEWAY_TIMEOUT)
        except (aiohttp.ClientError, OSError) as error:
            print(f"task {task.id}: {error!r}", file=sys.stderr)
            return Fail(BAD_GATEWAY)

    async def fetch(self, url):
        async with self.session.get(url, max_redirects=REDIRECTS) as response:
            return await answer(response)


if __name__ == "__main__":
    sys.exit(run(Fetch()))
