"""The protocol of the server, with model calls answered where they are read.

For a request that came whole, a task, a scope's ``receive`` and ``send`` and the checks of what an
application may send cost as much again as the call. Such a request is offered to the application
first (`Taker`); what it does not take goes the usual way, and so does whatever is unusual: a body
that comes in pieces, requests that were sent ahead, the last one of a connection.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from service.corked import CorkedProtocol

__all__ = ["Answer", "DirectProtocol", "Taker", "send_answer"]

Headers = Sequence[tuple[bytes, bytes]]
Answer = tuple[int, Headers, bytes]
"""A status, header fields, a body."""


@runtime_checkable
class Taker(Protocol):
    """An application that can answer without being awaited."""

    def take(self, scope: Any, body: bytes, reply: Callable[[Answer], None]) -> bool:
        """Take a request and reply once, now or later; or say that it was left untouched."""


class DirectProtocol(CorkedProtocol):
    """HTTP/1.1 in front of a `Taker`, or of any other ASGI application."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._take = self.app.take if isinstance(self.app, Taker) else None
        self._reads = False
        self._held: Any = None

    def data_received(self, data: bytes) -> None:
        """Called by the event loop with what was read."""
        self._reads = self._take is not None
        super().data_received(data)
        self._reads = False
        self._let_go()

    def on_message_complete(self) -> None:
        """Called by the parser at the end of a request."""
        super().on_message_complete()
        cycle = self._held
        if cycle is not None and self._take is not None:
            if self._take(cycle.scope, bytes(cycle.body), partial(self._reply, cycle)):
                self._held = None
            else:
                self._let_go()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Wait for the end of the request, if that may have been read already."""
        ordinary = cycle.keep_alive and not cycle.waiting_for_100_continue
        if self._reads and ordinary and app is self.app:
            self._held = cycle
        else:
            super()._start_asgi_task(cycle, app)

    def _let_go(self) -> None:
        """Let a request that is held go the usual way."""
        if self._held is not None:
            held, self._held = self._held, None
            super()._start_asgi_task(held, self.app)

    def _reply(self, cycle: Any, answer: Answer) -> None:
        if cycle.disconnected or cycle.response_complete:
            return
        if self.flow.write_paused or not cycle.keep_alive:
            super()._start_asgi_task(cycle, partial(_answer, answer))
            return
        self.transport.write(_message(self.server_state.default_headers, answer))
        cycle.response_started = cycle.response_complete = True
        cycle.on_response()


async def _answer(answer: Answer, _scope: Any, _receive: Any, send: Any) -> None:
    """An application that knows its answer."""
    await send_answer(send, answer)


async def send_answer(send: Any, answer: Answer) -> None:
    """Send an answer as ASGI has it."""
    status, fields, body = answer
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


def _message(defaults: Headers, answer: Answer) -> bytes:
    status, fields, body = answer
    lines = [b"%b: %b\r\n" % field for field in (*defaults, *fields)]
    head = b"".join(lines)
    if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
        raise ValueError("a header field has more than one line")
    return b"%b%b\r\n%b" % (STATUS_LINE[status], head, body)
