"""Around every request, matched or not: its id, one log line, one measurement."""

import re
import secrets
from collections.abc import Iterable
from functools import cache
from itertools import count
from time import perf_counter
from typing import Any, Final

from litestar import Litestar

from service import metrics
from service.api.call_route import Answer, CallRoute
from service.api.fields import Fields, fields_of
from service.api.paths import unify
from service.logs import access

__all__ = ["Service"]

_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
_TRACEPARENT: Final = re.compile(
    rb"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
_METHODS: Final = frozenset({"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"})

_PROCESS: Final = secrets.token_hex(8).encode()
_numbers: Final = count(1)


class Service(Litestar):
    """The section-2 calls, and Litestar for all the rest; every request is observed."""

    calls: dict[str, CallRoute]

    def add_calls(self, calls: Iterable[CallRoute]) -> None:
        """Answer these paths in front of the framework."""
        self.calls = {call.path: call for call in calls}
        self._by = (self.state.ledger, self.state.key_ring)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI entry point."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        fields = fields_of(scope["headers"])
        seen = _Seen(scope, fields, send)
        try:
            if call := self.calls.get(scope["path"]):
                head, body = seen.told(await call.answer(scope, fields, receive, *self._by))
                await send(head)
                await send(body)
            else:
                unify(scope)
                await super().__call__(scope, receive, seen.send)
        finally:
            seen.report()


class _Seen:
    """What is noted about one request."""

    __slots__ = ("_id", "_scope", "_send", "_started", "_status", "_trace")

    def __init__(self, scope: Any, fields: Fields, send: Any) -> None:
        self._scope = scope
        self._send = send
        self._started = perf_counter()
        self._status = 500
        self._id = _request_id(fields)
        self._trace = _trace(fields)

    def told(self, answer: Answer) -> tuple[Any, Any]:
        """The two messages of an answer, with the request's id in the headers."""
        self._status, fields, body = answer
        fields.append((b"x-request-id", self._id))
        head = {"type": "http.response.start", "status": self._status, "headers": fields}
        return head, {"type": "http.response.body", "body": body}

    async def send(self, message: Any) -> None:
        """Pass a message of the framework's on, with the request's id in its headers."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self._id)]
        await self._send(message)

    def report(self) -> None:
        """One line, one measurement. The route is a template: a path would tell account ids."""
        seconds = perf_counter() - self._started
        route = self._scope.get("path_template") or "unmatched"
        method = self._scope["method"]
        method = method if method in _METHODS else "other"
        _histogram(route, method, self._status).observe(seconds)
        access(method, route, self._status, seconds, self._id, self._trace)


@cache
def _histogram(route: str, method: str, status: int) -> metrics.Histogram:
    """The child of `metrics.REQUEST_SECONDS`: finding it anew costs more than observing."""
    return metrics.REQUEST_SECONDS.labels(route, method, status)


def _request_id(fields: Fields) -> bytes:
    """The caller's X-Request-Id if it is well-formed, or a new one."""
    given = fields.get(b"x-request-id")
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return b"%b%016x" % (_PROCESS, next(_numbers))


def _trace(fields: Fields) -> bytes | None:
    """The caller's traceparent if it is well-formed."""
    given = fields.get(b"traceparent")
    return given if given is not None and _TRACEPARENT.fullmatch(given) else None
