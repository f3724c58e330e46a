"""Uvicorn's protocol with one write a response and one timer a connection.

Uvicorn writes the head and the body of a response apart, and each write is a system call: a fifth
of all the time of a small request. What is written within one turn of the event loop goes together.
It also sets a timer when a response ends and stops it when the next request comes: one that was
set is left to ring, and looks then whether it is wanted.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["CorkedProtocol"]


class CorkedProtocol(HttpToolsProtocol):
    """HTTP/1.1 over a transport that gathers what is written to it."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.loop: Any = _Loop(self.loop)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called by the event loop with a new connection."""
        super().connection_made(_Cork(transport, self.loop))  # type: ignore[arg-type]


class _Loop:
    """The event loop as one connection sees it: what it is to call later is one thing at most."""

    __slots__ = ("_callback", "_due", "_loop", "_timer", "call_soon", "create_task")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._callback: Callable[[], object] | None = None
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.call_soon = loop.call_soon
        self.create_task = loop.create_task

    def call_later(self, delay: float, callback: Callable[[], object]) -> "_Loop":
        """Stands for the handle too."""
        self._callback = callback
        self._due = self._loop.time() + delay
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._ring)
        return self

    def cancel(self) -> None:
        self._callback = None

    def _ring(self) -> None:
        self._timer = None
        if self._callback is None:
            return
        if self._loop.time() < self._due:
            self._timer = self._loop.call_at(self._due, self._ring)
        else:
            self._callback()


class _Cork:
    """A transport whose writes are passed on together, at the end of the loop's turn."""

    __slots__ = ("_loop", "_transport", "_written", "is_closing")

    def __init__(self, transport: asyncio.Transport, loop: _Loop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []
        self.is_closing = transport.is_closing  # asked at every response, twice

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
        """To a connection that ended meanwhile nothing may be written: uvloop raises."""
        written, self._written = self._written, []
        if written and not self.is_closing():
            self._transport.write(b"".join(written))
