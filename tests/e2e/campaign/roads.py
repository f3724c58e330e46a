"""Two ways to the ledger, over HTTP and over SQL. Each gives an answer, or says that none came."""

import asyncio
import contextlib
import json
from typing import Any, Protocol

import asyncpg

from tests.support.session import Session

__all__ = ["Http", "NoAnswer", "Road", "Said", "Sql"]

PATIENCE_SECONDS = 10
Json = dict[str, Any]
Said = tuple[int, Json]
"""The status and the body of an answer."""


class NoAnswer(Exception):  # noqa: N818
    """The call may have been made or not: nobody said so. ``why`` is for the figures.

    ``wrong``: what was said instead is a fault of the ledger.
    """

    def __init__(self, why: str, *, wrong: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.wrong = wrong


class Road(Protocol):
    """A way to make calls."""

    async def call(self, name: str, body: Json) -> Said:
        """Make one call."""

    async def call_many(self, name: str, bodies: list[Json]) -> list[Said]:
        """Make several calls of one name as one array."""


class Http:
    """HTTP/1.1 over kept connections, and nothing that sends anything twice by itself."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._head = (
            "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {key}\r\nContent-Length: {{}}\r\n\r\n"
        )
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def call(self, name: str, body: Json) -> Said:
        given = dict(body)
        path = f"/{name}"
        if name == "resolve":
            path = f"/reservations/{given.pop('request_id')}/resolve"
        elif name == "adjust":
            path = f"/accounts/{given.pop('account_id')}/adjustments"
        return await self._post(path, given)

    async def call_many(self, name: str, bodies: list[Json]) -> list[Said]:
        status, items = await self._post(f"/{name}", bodies)
        assert status == 207, items
        return [(item["status"], item["body"]) for item in items]

    async def _post(self, path: str, body: Any) -> tuple[int, Any]:
        text = json.dumps(body).encode()
        request = self._head.format(path, len(text)).encode() + text
        ends = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                ends = self._idle.pop() if self._idle else await self._connect()
                ends[1].write(request)
                status, answer, kept = await _read_response(ends[0])
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            if ends is not None:
                ends[1].transport.abort()
            raise NoAnswer(type(error).__name__) from None
        if kept:
            self._idle.append(ends)
        else:
            ends[1].close()
        if status == 503:
            raise NoAnswer("503")
        return status, json.loads(answer)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def close(self) -> None:
        while self._idle:
            self._idle.pop()[1].transport.abort()


async def _read_response(reader: asyncio.StreamReader) -> tuple[int, bytes, bool]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers["content-length"]))
    return int(head[0].split(" ", 2)[1]), body, headers.get("connection") != "close"


# InternalClientError: the server's last words came in before the connection's end was noticed.
LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


class Sql:
    """The functions of ``preauth_api`` over a few connections."""

    def __init__(self, url: str, most: int) -> None:
        self._url = url
        self._gate = asyncio.Semaphore(most)
        self._idle: list[Session] = []

    async def call(self, name: str, body: Json) -> Said:
        given = dict(body)
        if name == "adjust":
            given = {"account_id": given.pop("account_id"), "body": given}
        return await self._run(lambda session: _one(session, name, given))

    async def call_many(self, name: str, bodies: list[Json]) -> list[Said]:
        return await self._run(lambda session: _many(session, name, bodies))

    async def _run(self, call: Any) -> Any:
        async with self._gate:
            session = None
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    session = self._idle.pop() if self._idle else await Session.open(self._url)
                    said = await call(session)
            except LOST as error:
                if session is not None:
                    session.connection.terminate()
                raise _no_answer(error) from None
            self._idle.append(session)
            return said

    async def close(self) -> None:
        while self._idle:
            with contextlib.suppress(*LOST):
                await self._idle.pop().close()


async def _one(session: Session, name: str, given: Json) -> Said:
    body = await session.call(name, **given)
    refused = "type" in body and "status" in body
    return (body["status"] if refused else 200), body


async def _many(session: Session, name: str, bodies: list[Json]) -> list[Said]:
    return [(row.status, row.body) for row in await session.many(name, bodies)]


def _no_answer(error: BaseException) -> NoAnswer:
    """Right only if lost, shutting down, starting up, too many clients, or out of time."""
    state = getattr(error, "sqlstate", None)
    wrong = state is not None and state[:2] not in {"08", "53", "57", "25"}
    return NoAnswer(str(error) if wrong else type(error).__name__, wrong=wrong)
