"""Sending an outcome as it stands."""

from typing import Any

from service.api import vendors
from service.ledger import Outcome

__all__ = ["send_outcome"]

_JSON = (b"content-type", b"application/json")
_PROBLEM = (b"content-type", b"application/problem+json")


async def send_outcome(scope: Any, send: Any, outcome: Outcome) -> None:
    """The ledger's bytes, in a vendor's envelope where one is wanted."""
    kind = _JSON
    if outcome.is_problem:
        vendor = vendors.wanted(scope)
        outcome = vendors.dress(outcome, vendor)
        kind = _PROBLEM if vendor is None else _JSON
    headers = [
        kind,
        (b"content-length", str(len(outcome.body)).encode()),
        *((name.lower().encode(), value.encode()) for name, value in outcome.headers.items()),
    ]
    await send({"type": "http.response.start", "status": outcome.status, "headers": headers})
    await send({"type": "http.response.body", "body": outcome.body})
