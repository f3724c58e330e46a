"""A session as PostgREST opens it for a signed-in user."""

import json
from typing import Any

from tests.support.ledger import Ledger
from tests.support.session import Session

__all__ = ["signed_in"]


async def signed_in(
    ledger: Ledger, claims: Any, role: str = "authenticated", **settings: str
) -> Session:
    """A connection in that role, with those claims as its JWT's and those settings."""
    session = await ledger.connect()
    await session.connection.execute(f"set role {role}")
    chosen = {"request.jwt.claims": json.dumps(claims), **settings}
    for name, value in chosen.items():
        await session.connection.execute("select set_config($1, $2, false)", name, value)
    return session
