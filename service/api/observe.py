"""Around every request, matched or not: its id, one log line, one measurement."""

import re
import secrets
from functools import cache
from itertools import count
from time import perf_counter
from typing import Any, Final

from service import metrics
from service.api.fields import Fields
from service.direct import Answer
from service.logs import access

__all__ = ["Seen"]

_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
_TRACEPARENT: Final = re.compile(
    rb"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
_METHODS: Final = frozenset({"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"})

_PROCESS: Final = secrets.token_hex(8).encode()
_numbers: Final = count(1)


class Seen:
    """What is noted about one request."""

    __slots__ = ("_id", "_scope", "_started", "_status", "_trace")

    def __init__(self, scope: Any, fields: Fields) -> None:
        self._scope = scope
        self._started = perf_counter()
        self._status = 500
        self._id = _request_id(fields)
        self._trace = _trace(fields)

    def told(self, answer: Answer) -> Answer:
        """An answer with the request's id in the headers."""
        self._status, fields, body = answer
        return self._status, self._with_id(fields), body

    def sending(self, send: Any) -> Any:
        """Pass the framework's messages on, with the request's id in the headers."""

        async def passed_on(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._status = message["status"]
                message["headers"] = self._with_id(message["headers"])
            await send(message)

        return passed_on

    def _with_id(self, fields: Any) -> Any:
        return [*fields, (b"x-request-id", self._id)]

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
