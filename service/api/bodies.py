"""Reading a request body within bounds."""

from typing import Any, Final

from service.api.fields import Fields
from service.api.problems import Fault, Problem, malformed

__all__ = ["MAX_BATCH_BYTES", "MAX_BODY_BYTES", "read_body"]

MAX_BODY_BYTES: Final = 64 * 1024
"""One call."""

MAX_BATCH_BYTES: Final = 1024 * 1024
"""An array of calls."""


async def read_body(fields: Fields, receive: Any, *, batches: bool) -> bytes:
    """The whole body; ``batches``: it may be an array of calls.

    Raises:
        Problem: 413 when it is over `MAX_BODY_BYTES`, or `MAX_BATCH_BYTES` for such an array.
    """
    announced = _announced(fields)
    if announced is not None and announced > (MAX_BATCH_BYTES if batches else MAX_BODY_BYTES):
        raise _too_large(batches=batches)
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        _check(body, batches=batches)
        message = await receive()
        body += message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise malformed([Fault("", "the client went away")])
    _check(body, batches=batches)
    return body


def _check(body: bytes, *, batches: bool) -> None:
    if len(body) > MAX_BODY_BYTES:
        is_array = batches and body[:64].lstrip()[:1] == b"["
        if not is_array or len(body) > MAX_BATCH_BYTES:
            raise _too_large(batches=batches)


def _too_large(*, batches: bool) -> Problem:
    """Both bounds where both may apply: of a body that was not read nobody knows what it is."""
    arrays = f", an array of calls {MAX_BATCH_BYTES}" if batches else ""
    return Problem("too_large", f"A request body may have {MAX_BODY_BYTES} bytes{arrays}.")


def _announced(fields: Fields) -> int | None:
    length = fields.get(b"content-length", b"")
    return int(length) if length.isdigit() else None
