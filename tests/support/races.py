"""Races as functions of the reserve under test, so that a wrong one can be shown to lose them."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.support.ledger import Ledger
from tests.support.money import Json, tokens
from tests.support.session import Session
from tests.support.waits import until

__all__ = ["Reserve", "fifty_for_the_room_of_two", "real_reserve"]

Reserve = Callable[[Session, str, int], Awaitable[str]]
"""``(session, request_id, amount) -> decision`` for ann's tokens."""

START_LINE = 7


async def real_reserve(session: Session, request_id: str, amount: int) -> str:
    reply: Json = await session.reserve(request_id, "ann", tokens(amount))
    return str(reply["decision"])


async def fifty_for_the_room_of_two(ledger: Ledger, reserve: Reserve) -> int:
    """50 connections ask for 400 of 1000 at the same moment; how many are authorized?"""
    sessions = await ledger.sessions(50)
    await ledger.connection.execute("select pg_advisory_lock($1)", START_LINE)

    async def run(n: int, session: Session) -> str:
        await session.connection.execute("select pg_advisory_lock_shared($1)", START_LINE)
        return await reserve(session, f"r{n}", 400)

    racing = [asyncio.create_task(run(n, session)) for n, session in enumerate(sessions)]
    await _all_at_the_line(ledger, len(racing))
    await ledger.connection.execute("select pg_advisory_unlock($1)", START_LINE)
    decisions = await asyncio.gather(*racing)
    for session in sessions:
        await session.close()
    return decisions.count("authorized")


async def _all_at_the_line(ledger: Ledger, count: int) -> None:
    async def waiting() -> bool:
        found = await ledger.connection.fetchval(
            "select count(*) from pg_locks where locktype = 'advisory' and not granted"
            " and database = (select oid from pg_database where datname = current_database())"
        )
        return bool(found == count)

    await until(waiting, f"{count} sessions wait at the start line")
