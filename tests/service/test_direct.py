"""Requests that came whole are offered to the application first; all others go the usual way."""

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

import pytest
import uvicorn
from uvicorn.server import ServerState

from service.direct import Answer, DirectProtocol, send_answer
from tests.support.waits import until

Reply = Callable[[Answer], None]
STAYS_SECONDS = 0.2


def request(body: bytes = b"a", *fields: bytes, version: bytes = b"1.1") -> bytes:
    lines = [b"POST /call HTTP/" + version, b"host: here", b"content-length: %d" % len(body)]
    return b"\r\n".join([*lines, *fields, b"", body])


def answer(how: bytes, body: bytes) -> Answer:
    told = how + b" " + body
    return 200, [(b"content-length", b"%d" % len(told))], told


class Application:
    """Answers what it takes when it is told to, and says so; what it leaves, the ASGI way."""

    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, Reply]] = []
        self.leaves: set[bytes] = set()

    def take(self, scope: Any, body: bytes, reply: Reply) -> bool:
        assert scope["path"] == "/call"
        if body in self.leaves:
            return False
        self.waiting.append((body, reply))
        return True

    def answer_all(self) -> None:
        waiting, self.waiting = self.waiting, []
        for body, reply in waiting:
            reply(answer(b"taken", body))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        await send_answer(send, answer(b"called", body))


class Counted(DirectProtocol):
    """Remembers who is alive."""

    alive: ClassVar["weakref.WeakSet[Counted]"] = weakref.WeakSet()

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.alive.add(self)
        super().connection_made(transport)


class Client:
    """One connection to the application."""

    def __init__(self, app: Application, reader: Any, writer: Any) -> None:
        self.app = app
        self.reader = reader
        self.writer = writer

    @property
    def protocol(self) -> Counted:
        (protocol,) = Counted.alive
        return protocol

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)

    async def taken(self, count: int = 1) -> None:
        async def enough() -> bool:
            return len(self.app.waiting) == count

        await until(enough, "so many were taken")

    async def body(self) -> bytes:
        """The body of the next response."""
        async with asyncio.timeout(5):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            return bytes(await self.reader.readexactly(int(length)))

    async def nothing_comes(self) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(self.reader.read(1), STAYS_SECONDS)

    async def end(self) -> bytes:
        """All until the server closes the connection."""
        return bytes(await asyncio.wait_for(self.reader.read(), 5))


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    gc.collect()  # what tests before this one left
    app = Application()
    config = uvicorn.Config(app, lifespan="off", log_config=None, proxy_headers=False)  # type: ignore[arg-type]
    config.load()
    loop = asyncio.get_running_loop()
    state = ServerState()
    server = await loop.create_server(lambda: Counted(config, state, {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield Client(app, reader, writer)
    finally:
        writer.close()
        server.close()
        await asyncio.sleep(0.05)


async def test_what_the_application_takes_is_answered_when_it_says_so() -> None:
    async with connected() as client:
        for body in (b"a", b"b"):
            client.send(request(body))
            await client.taken()
            await client.nothing_comes()
            client.app.answer_all()
            assert await client.body() == b"taken " + body


async def test_what_it_leaves_goes_the_usual_way() -> None:
    async with connected() as client:
        client.app.leaves = {b"a"}
        client.send(request(b"a"))
        assert await client.body() == b"called a"
        client.send(request(b"b"))
        await client.taken()
        client.app.answer_all()
        assert await client.body() == b"taken b"


async def test_a_body_that_comes_in_pieces_goes_the_usual_way() -> None:
    async with connected() as client:
        whole = request(b"abc")
        client.send(whole[:-1])
        await client.nothing_comes()
        client.send(whole[-1:])
        assert await client.body() == b"called abc"


async def test_requests_that_were_sent_ahead_are_answered_in_their_order() -> None:
    async with connected() as client:
        client.send(request(b"a") + request(b"b") + request(b"c"))
        await client.taken()
        await client.nothing_comes()
        client.app.answer_all()
        assert [await client.body() for _ in range(3)] == [b"taken a", b"called b", b"called c"]


async def test_one_sent_ahead_of_its_answer_waits_behind_one_that_was_left() -> None:
    async with connected() as client:
        client.app.leaves = {b"a"}
        client.send(request(b"a") + request(b"b"))
        assert [await client.body() for _ in range(2)] == [b"called a", b"called b"]


@pytest.mark.parametrize(
    "last",
    [request(b"a", b"connection: close"), request(b"a", version=b"1.0")],
    ids=["close", "1.0"],
)
async def test_the_last_request_of_a_connection_goes_the_usual_way(last: bytes) -> None:
    async with connected() as client:
        client.send(last)
        assert (await client.end()).endswith(b"called a")


async def test_who_wants_to_be_told_to_continue_is_told() -> None:
    async with connected() as client:
        client.send(request(b"a", b"expect: 100-continue")[:-1])
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(b"a")
        assert await client.body() == b"called a"


async def test_a_server_that_stops_answers_what_was_taken_and_closes_then() -> None:
    async with connected() as client:
        client.send(request(b"a"))
        await client.taken()
        client.protocol.shutdown()
        await client.nothing_comes()
        client.app.answer_all()
        last = await client.end()
        assert b"connection: close" in last
        assert last.endswith(b"taken a")


async def test_the_answer_to_a_client_that_went_away_is_for_nobody() -> None:
    async with connected() as client:
        client.send(request(b"a"))
        await client.taken()
        client.writer.close()

        async def gone() -> bool:
            return client.protocol.transport.is_closing()

        await until(gone, "the server has noticed")
        client.app.answer_all()


async def test_an_answer_waits_while_the_client_reads_nothing() -> None:
    async with connected() as client:
        client.send(request(b"a"))
        await client.taken()
        client.protocol.pause_writing()
        client.app.answer_all()
        await client.nothing_comes()
        client.protocol.resume_writing()
        assert await client.body() == b"taken a"


@pytest.mark.parametrize("bad", [b"x\r\nset-cookie: y", b"x\ny", b"x\ry"])
async def test_a_header_field_has_one_line(bad: bytes) -> None:
    async with connected() as client:
        client.send(request(b"a"))
        await client.taken()
        ((_, reply),) = client.app.waiting
        with pytest.raises(ValueError, match="more than one line"):
            reply((200, [(b"x-bad", bad)], b""))
        client.app.answer_all()
        assert await client.body() == b"taken a"


async def test_a_connection_is_closed_when_its_last_answer_cannot_be_written() -> None:
    async with connected() as client:
        client.send(request(b"a"))
        await client.taken()
        client.protocol.shutdown()
        ((_, reply),) = client.app.waiting
        reply((200, [(b"x-bad", b"x\r\nset-cookie: y")], b""))
        assert await client.end() == b""


async def test_who_is_over_the_limit_of_connections_is_not_taken() -> None:
    async with connected() as client:
        client.send(request(b"a"))
        await client.taken()
        client.app.answer_all()
        assert await client.body() == b"taken a"
        client.protocol.limit_concurrency = 1
        client.send(request(b"b"))
        assert await client.body() == b"Service Unavailable"
        assert not client.app.waiting


async def test_who_replies_twice_is_heard_once() -> None:
    async with connected() as client:
        client.send(request(b"a"))
        await client.taken()
        ((_, reply),) = client.app.waiting
        client.app.answer_all()
        reply(answer(b"taken", b"again"))
        assert await client.body() == b"taken a"
        await client.nothing_comes()


async def test_a_request_that_is_none_is_refused() -> None:
    async with connected() as client:
        client.send(request(b"a")[:-1] + b"a" + b"nonsense\r\n\r\n")
        await client.taken()
        assert b"400 Bad Request" in await client.end()


async def test_nothing_is_kept_of_a_connection_that_is_gone() -> None:
    async with connected() as client:
        client.send(request(b"a"))
        await client.taken()
        client.app.answer_all()
        await client.body()
        client.writer.close()
        await asyncio.sleep(0.05)
        gc.collect()
        assert not Counted.alive
