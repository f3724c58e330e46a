"""Uvicorn's protocol with one write a response.

Uvicorn writes the head and the body of a response apart, and each write is a system call: a fifth
of all the time of a small request. What is written within one turn of the event loop goes together.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["CorkedProtocol"]


class CorkedProtocol(HttpToolsProtocol):
    """HTTP/1.1 over a transport that gathers what is written to it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called by the event loop with a new connection."""
        super().connection_made(_Cork(transport, self.loop))  # type: ignore[arg-type]


class _Cork:
    """A transport whose writes are passed on together, at the end of the loop's turn."""

    __slots__ = ("_loop", "_transport", "_written")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._written.append(data)
        if len(self._written) == 1:
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._written:
            written, self._written = self._written, []
            self._transport.write(b"".join(written))
