"""Who asks, and whether they may. A key is looked up by its SHA-256; nothing else is kept."""

import hashlib
import hmac
import secrets
import time
from typing import Any, Final

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from service import metrics
from service.api.fields import Fields, fields_of
from service.api.operation import Operation
from service.api.problems import Problem
from service.ledger import KeyRecord, Ledger
from service.settings import MAX_TOKEN_BYTES

__all__ = ["BOOTSTRAP", "KeyRing", "authorise", "digest", "new_secret", "permitted", "presented"]

BOOTSTRAP: Final = KeyRecord("bootstrap", "admin", None)
"""Who PREAUTH_ADMIN_KEY is."""

MOST_CACHED = 10_000


def new_secret() -> str:
    """A key of 256 random bits, with a prefix that secret scanners can be told of."""
    return "preauth_" + secrets.token_urlsafe(32)


def digest(secret: bytes) -> bytes:
    """What is kept of a key. 256 random bits need neither salt nor stretching."""
    return hashlib.sha256(secret).digest()


class KeyRing:
    """The keys that were seen lately, each trusted for ``seconds`` after it was looked up."""

    def __init__(self, ledger: Ledger, *, admin_key: str | None, seconds: float) -> None:
        self._ledger = ledger
        self._admin = digest(admin_key.encode()) if admin_key else None
        self._seconds = seconds
        self._seen: dict[bytes, tuple[float, KeyRecord]] = {}

    def known(self, hashed: bytes) -> KeyRecord | None:
        """The live key with this hash, if it is trusted without asking the ledger."""
        if self._admin is not None and hmac.compare_digest(hashed, self._admin):
            return BOOTSTRAP
        cached = self._seen.get(hashed)
        return cached[1] if cached is not None and cached[0] > time.monotonic() else None

    def forget(self, key_id: str) -> None:
        """Stop trusting a key that was revoked; other processes do within ``seconds``."""
        self._seen = {h: kept for h, kept in self._seen.items() if kept[1].key_id != key_id}

    async def look_up(self, hashed: bytes) -> KeyRecord | None:
        """The live key with this hash, if there is one.

        Raises:
            StoreUnavailable: the ledger did not say.
        """
        found = await self._ledger.key_by_hash(hashed)
        metrics.KEY_LOOKUPS.labels("found" if found else "unknown").inc()
        self._seen.pop(hashed, None)
        if found is not None and self._seconds > 0:
            if len(self._seen) >= MOST_CACHED:
                del self._seen[next(iter(self._seen))]
            self._seen[hashed] = (time.monotonic() + self._seconds, found)
        return found


async def authorise(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
) -> None:
    """Litestar's guard for every route: whoever calls must have one of its operation's roles.

    A route without an operation is closed; OPTIONS is open everywhere.
    """
    if connection.scope.get("method") == "OPTIONS":
        return
    operation = handler.opt.get("operation")
    if operation is None:
        raise Problem("forbidden", "This is not open.")
    if operation.roles:
        ring = connection.app.state.key_ring
        hashed = presented(fields_of(connection.scope))
        found = ring.known(hashed) or await ring.look_up(hashed)
        connection.scope["user"] = permitted(found, operation)


def permitted(caller: KeyRecord | None, operation: Operation) -> KeyRecord:
    """The caller that was found by the key of a request, if the operation is open to it.

    Raises:
        Problem: 401 without a live key, 403 if its role is none of the operation's.
    """
    if caller is None:
        raise _unauthenticated("The API key is unknown or was revoked.", ', error="invalid_token"')
    if caller.role not in operation.roles:
        raise Problem("forbidden", f"This needs a key of role {' or '.join(operation.roles)}.")
    return caller


def presented(fields: Fields) -> bytes:
    """The hash of the key that a request has.

    Raises:
        Problem: 401 when it has none.
    """
    given = fields.get(b"authorization")
    if given is None:
        raise _unauthenticated("Send one Authorization header: Bearer and an API key.")
    scheme, _, secret = given.partition(b" ")
    secret = secret.strip()
    if scheme.lower() != b"bearer" or not 0 < len(secret) <= MAX_TOKEN_BYTES or b"\n" in secret:
        raise _unauthenticated("The one Authorization header must be Bearer and an API key.")
    return digest(secret)


def _unauthenticated(detail: str, more: str = "") -> Problem:
    challenge = f'Bearer realm="preauth"{more}'
    return Problem("unauthenticated", detail, headers={"WWW-Authenticate": challenge})
