"""One write a response, and connections that are kept for as long as uvicorn is told."""

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest
import uvicorn
import uvloop
from uvicorn.server import ServerState

from service.corked import CorkedProtocol

KEPT_SECONDS = 0.3
REQUEST = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n"
CLOSING = REQUEST.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
BODY = b"good"


async def app(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"%d" % len(BODY))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})


async def slow(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.sleep(KEPT_SECONDS * 2)
    await app(scope, receive, send)


class Counted(CorkedProtocol):
    """Remembers what was written, and who is alive."""

    alive: ClassVar["weakref.WeakSet[Counted]"] = weakref.WeakSet()
    writes: list[bytes]

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.alive.add(self)
        self.writes = []
        write = transport.write
        transport.write = lambda data: (self.writes.append(data), write(data))  # type: ignore[method-assign]
        super().connection_made(transport)


@contextlib.asynccontextmanager
async def connected(
    protocol: type[CorkedProtocol] = Counted, application: Any = app
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    config = uvicorn.Config(
        application, lifespan="off", timeout_keep_alive=KEPT_SECONDS, log_config=None
    )  # type: ignore[arg-type]
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield reader, writer
    finally:
        writer.close()
        server.close()
        await asyncio.sleep(0.05)
        gc.collect()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(REQUEST)
    head = await reader.readuntil(b"\r\n\r\n")
    return head + await reader.readexactly(len(BODY))


async def test_the_head_and_the_body_of_a_response_are_one_write() -> None:
    async with connected() as (reader, writer):
        answer = await ask(reader, writer)
        (protocol,) = Counted.alive
        assert protocol.writes == [answer]
        assert answer.endswith(BODY)


async def test_a_response_that_is_the_last_is_written_before_the_connection_is_closed() -> None:
    async with connected() as (reader, writer):
        writer.write(CLOSING)
        assert (await asyncio.wait_for(reader.read(), 1)).endswith(BODY)


async def test_a_connection_is_closed_when_it_was_idle_for_as_long_as_was_said() -> None:
    clock = asyncio.get_running_loop().time
    async with connected() as (reader, writer):
        for _ in range(3):
            await ask(reader, writer)
            await asyncio.sleep(KEPT_SECONDS * 0.6)
        await ask(reader, writer)
        idle_since = clock()
        assert await asyncio.wait_for(reader.read(), 5) == b""
        assert KEPT_SECONDS - 0.01 <= clock() - idle_since < KEPT_SECONDS * 1.5


async def test_a_request_that_takes_longer_than_a_connection_is_kept_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with connected() as (reader, writer):
        await ask(reader, writer)
        (protocol,) = Counted.alive
        monkeypatch.setattr(protocol, "app", slow)
        assert (await ask(reader, writer)).endswith(BODY)


def test_what_is_written_to_a_connection_that_is_gone_is_for_nobody() -> None:
    faults: list[Any] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        async with connected(CorkedProtocol, slow) as (reader, writer):
            writer.write(REQUEST * 2 + b"nonsense\r\n\r\n")
            assert b"400 Bad Request" in await asyncio.wait_for(reader.read(), 5)
            await asyncio.sleep(KEPT_SECONDS * 3)

    uvloop.run(scenario())  # the service's loop: it does not put up with that, as asyncio's does
    assert not faults


async def test_nothing_is_kept_of_a_connection_that_is_gone() -> None:
    async with connected() as (reader, writer):
        await ask(reader, writer)
        writer.close()
        await asyncio.sleep(0.05)
        gc.collect()
        assert not Counted.alive
