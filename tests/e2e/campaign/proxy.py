"""A TCP proxy of our own that loses, cuts, shortens and delays what goes through it."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Proxy", "Weather"]

CHUNK = 1 << 16
CONNECT_SECONDS = 2


@dataclass
class Weather:
    """How likely each thing is to happen to one chunk of data; ``dark`` swallows every reply."""

    lose_request: float = 0.0
    """The connection is cut before the request has gone on."""
    lose_reply: float = 0.0
    """The request has gone on, its reply comes, and the connection is cut instead."""
    shorten_reply: float = 0.0
    """The first part of the reply goes on, then the connection is cut."""
    delay: float = 0.0
    delay_seconds: float = 0.1
    dark: bool = False


class Proxy:
    """Passes connections on to wherever ``upstream`` says the server listens now."""

    def __init__(
        self,
        name: str,
        upstream: Callable[[], int],
        rng: random.Random,
        weather: Weather | None = None,
    ) -> None:
        self.name = name
        self.port = 0
        self.weather = weather or Weather()
        self.did: Counter[str] = Counter()
        self._upstream = upstream
        self._random = rng
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.cut_all()
        await asyncio.sleep(0)

    def cut_all(self) -> int:
        """Cut every connection, whatever is under way on it; how many there were."""
        cut = len(self._open) // 2
        for writer in list(self._open):
            writer.transport.abort()
        return cut

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                there, onward = await asyncio.open_connection("127.0.0.1", self._upstream())
        except (OSError, TimeoutError):
            writer.transport.abort()
            return
        ends = {writer, onward}
        self._open |= ends
        try:
            pumps = (self._requests(reader, onward), self._replies(there, writer))
            running = [asyncio.ensure_future(p) for p in pumps]
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for pump in running:
                pump.cancel()
        finally:
            self._open -= ends
            for end in ends:
                with contextlib.suppress(OSError):
                    end.close()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                if self._happens("lose_request"):
                    return
                await self._delay()
                writer.write(data)
                await writer.drain()

    async def _replies(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                if self.weather.dark:
                    self.did["swallow_reply"] += 1
                    continue
                if self._happens("lose_reply"):
                    return
                if self._happens("shorten_reply"):
                    writer.write(data[: self._random.randrange(len(data))])
                    await writer.drain()
                    return
                await self._delay()
                writer.write(data)
                await writer.drain()

    async def _delay(self) -> None:
        if self._happens("delay"):
            await asyncio.sleep(self._random.random() * self.weather.delay_seconds)

    def _happens(self, what: str) -> bool:
        if self._random.random() >= getattr(self.weather, what):
            return False
        self.did[what] += 1
        return True
