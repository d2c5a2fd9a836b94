#!/usr/bin/env python3
"""One address for the pages of all supervisors of docker-compose.yml.

Passes each connection on to the first supervisor that accepts it, in the order of their addresses, so that one browser
sees one supervisor. The others: docker-compose exec --index=2 supervisor wpool top
"""
import asyncio
import ipaddress
import signal
import socket

PORT = 9464
NAME = "supervisor"  # Docker's DNS knows the addresses of all its containers
CONNECT_SECONDS = 2
CHUNK_BYTES = 65536
NOBODY = (b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
          b"no supervisor accepts connections; docker-compose ps shows their state\n")


async def connect():
    """Return (reader, writer) of the first supervisor that accepts a connection, or None."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(NAME, PORT, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return None
    for address in sorted({entry[4][0] for entry in found}, key=ipaddress.ip_address):
        try:
            return await asyncio.wait_for(asyncio.open_connection(address, PORT), CONNECT_SECONDS)
        except (OSError, asyncio.TimeoutError):
            continue
    return None


async def copy(reader, writer):
    """Copy until the reader's end, and pass that end on."""
    while data := await reader.read(CHUNK_BYTES):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def relay(reader, writer):
    writers = [writer]
    try:
        if peer := await connect():
            writers.append(peer[1])
            await asyncio.gather(copy(reader, peer[1]), copy(peer[0], writer))
        else:
            writer.write(NOBODY)
            await writer.drain()
    except OSError:
        pass  # one side is gone: the other one is closed
    finally:
        for each in writers:
            each.close()


async def main():
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await asyncio.start_server(relay, "0.0.0.0", PORT)
    await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
