"""Batches that fit in part, many at once and beside changes: what is let in stays within the limit."""

import asyncio

from tests.support.money import DAY, tokens
from tests.support.session import Figures
from tests.support.waits import until


def item(request_id, account, amount):
    return {"request_id": request_id, "account_id": account, "amounts": tokens(amount)}


async def met(ledger, *accounts):
    """Each account's windows are made and its route is kept: what fits from now on fits plainly."""
    for account in accounts:
        await ledger.reserve("first", account, tokens(0))


async def test_a_batch_sent_again_after_its_windows_ended_waits_in_no_ring(ledger, clock):
    """On two days they share no window, and meet at their keys alone, the second the longer."""
    for account in ("ann", "bob"):
        await ledger.grant(account, window=DAY)
    await met(ledger, "ann", "bob")
    await ledger.reserve("before", "ann", tokens(600))
    batch = [item("r1", "ann", 500), item("r2", "bob", 100)]
    parked, first, again = await ledger.sessions(3)
    async with parked.connection.transaction():
        await parked.connection.execute("lock table preauth.hold_line in share mode")
        begun = asyncio.create_task(first.many("reserve", batch))
        await until(lambda: ledger.waits(first), "the first has taken keys")
        clock.advance(days=1)
        repeated = asyncio.create_task(again.many("reserve", batch))
        await until(lambda: ledger.waits(again), "the second waits for a key")
    rows, others = await begun, await repeated
    assert [row.status for row in rows] == [row.status for row in others] == [429, 200]
    assert [row.body["replayed"] for row in others] == [True, True]
    assert await ledger.figures("bob") == Figures(0, 0, 1000)
