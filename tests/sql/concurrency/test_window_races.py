"""Windows that begin with the first spend are made by many at once, and by nobody in a ring."""

import asyncio

import pytest

from tests.support.money import fixed, tokens
from tests.support.waits import until

MINUTE = fixed(60)


def item(request_id, account):
    return {"request_id": request_id, "account_id": account, "amounts": tokens(10)}


@pytest.fixture
async def staggered(ledger, clock):
    """org's window ends a second before that of ann, who is below it; zoo stands apart."""
    for account, parent in (("org", None), ("ann", "org"), ("zoo", None)):
        await ledger.put_account(account, parent_id=parent)
        await ledger.grant(account, window=MINUTE)
    await ledger.reserve("first", "org", tokens(10))
    clock.advance(seconds=1)
    await ledger.reserve("second", "ann", tokens(10))
    clock.advance(seconds=59)
    return ledger


async def begun(ledger, call, what):
    """A call on a session of its own, once it waits for somebody."""
    session = await ledger.connect()
    task = asyncio.create_task(call(session))
    await until(lambda: ledger.waits(session), what)
    return task


async def both(ledger):
    """Needs org's window and zoo's, in this order."""
    return await begun(
        ledger, lambda s: s.many("reserve", [item("r1", "ann"), item("r2", "zoo")]), "both wait"
    )


async def below(ledger):
    """Needs ann's window and org's, in this order."""
    return await begun(ledger, lambda s: s.many("reserve", [item("r3", "ann")]), "ann waits")


async def waited_for(ledger, session):
    """Whether somebody waits for what a session has locked."""
    blocked = "select count(*) from pg_stat_activity where $1 = any(pg_blocking_pids(pid))"
    return await ledger.connection.fetchval(blocked, session.pid)


async def all_authorized(*tasks):
    for task in tasks:
        assert {row.body.get("decision") for row in await task} == {"authorized"}


async def test_a_window_that_ends_while_another_is_made_closes_no_ring(staggered, clock):
    maker = await staggered.connect()
    async with maker.connection.transaction():
        await maker.reserve("r0", "zoo", tokens(10))
        first = await both(staggered)
        clock.advance(seconds=1)
        second = await below(staggered)
    await all_authorized(first, second)
    assert await staggered.count("budget_window") == 5


async def test_who_has_made_windows_and_needs_others_gives_them_back_and_begins_again(
    staggered, clock
):
    """The window that it waited for began after it had looked."""
    parked, maker = await staggered.sessions(2)
    change = parked.connection.transaction()
    await change.start()
    await parked.connection.execute(
        "select from preauth.account where account_id = 'org' for no key update"
    )
    first = await both(staggered)
    clock.advance(milliseconds=500)
    async with maker.connection.transaction():
        await maker.reserve("r0", "zoo", tokens(10))
        await change.commit()
        await until(lambda: waited_for(staggered, maker), "org's is made, and zoo's waited for")
        clock.advance(milliseconds=500)
        second = await below(staggered)
    await all_authorized(first, second)
    assert await staggered.count("budget_window") == 5
