"""Windows are locked deepest account first, root last, then by budget: shown by parking."""

import asyncio

import asyncpg
import pytest

from tests.support.money import tokens
from tests.support.waits import until

ORDER = [("ann", "first"), ("ann", "second"), ("team", "cap"), ("org", "cap")]
"""The documented order of ann's windows: two of her own, made in this order, then upward."""

ROW = """
    select 1 from preauth.budget_window w
     where w.account_id = $1
       and w.budget_id = (select b.budget_id from preauth.budget b
                           where b.account_id = $1 and b.name = $2)
       for update"""


async def grants(ledger, on_expiry="release"):
    await ledger.grant("org", 10**6, on_expiry=on_expiry)
    await ledger.put_account("team", parent_id="org")
    await ledger.grant("team", 10**6, on_expiry=on_expiry)
    await ledger.put_account("ann", parent_id="team")
    await ledger.grant("ann", 10**6, "first", on_expiry=on_expiry)
    await ledger.grant("ann", 10**6, "second", on_expiry=on_expiry)


@pytest.fixture
async def tree(ledger, clock):
    """Every window exists; r1 is held, late1 has lapsed."""
    await grants(ledger)
    await ledger.reserve("late1", "ann", tokens(5), ttl_seconds=5)
    await ledger.reserve("r1", "ann", tokens(10), ttl_seconds=60)
    clock.advance(seconds=5)
    return ledger


SETTLEMENT = {"request_id": "r1", "account_id": "ann", "amounts": tokens(1)}
CALLS = {
    "reserve": lambda s: s.reserve("new", "ann", tokens(1)),
    "charge": lambda s: s.charge("new", "ann", tokens(1)),
    "settle": lambda s: s.settle("r1", tokens(1)),
    "settle late": lambda s: s.settle("late1", tokens(1)),
    "release": lambda s: s.release("r1"),
    "settle twice in one batch": lambda s: s.many("settle", [SETTLEMENT, SETTLEMENT]),
    "expire_due": lambda s: s.call("expire_due", max_count=10),
}


async def locked(session, window):
    """Whether somebody holds that window's row."""
    try:
        async with session.connection.transaction():
            await session.connection.fetch(f"{ROW} nowait", *window)
    except asyncpg.LockNotAvailableError:
        return True
    return False


async def waits_for(watcher, waiter, parked):
    """Whether the waiter's session is stopped by the parked one, at a lock."""
    row = await watcher.connection.fetchrow(
        "select a.wait_event_type, pg_blocking_pids(a.pid) as blockers,"
        " exists (select from pg_locks l where l.pid = a.pid and not l.granted) as ungranted"
        " from pg_stat_activity a where a.pid = $1",
        waiter.pid,
    )
    return row["wait_event_type"] == "Lock" and row["ungranted"] and parked.pid in row["blockers"]


@pytest.mark.parametrize("place", range(4), ids=["-".join(window) for window in ORDER])
@pytest.mark.parametrize("call", CALLS)
async def test_what_comes_before_is_locked_and_what_comes_after_is_free(tree, call, place):
    await meets_the_order(tree, call, place)


@pytest.mark.parametrize("place", range(4), ids=["-".join(window) for window in ORDER])
async def test_what_plainly_fits_locks_in_that_order_whichever_window_was_made_first(
    ledger, clock, place
):
    await grants(ledger, on_expiry="keep")
    for account in ("org", "team", "ann"):
        await ledger.reserve("first", account, tokens(1))
    await meets_the_order(ledger, "reserve", place)


async def meets_the_order(tree, call, place):
    parked, waiter, watcher = await tree.sessions(3)
    transaction = parked.connection.transaction()
    await transaction.start()
    await parked.connection.fetch(ROW, *ORDER[place])
    waiting = asyncio.create_task(CALLS[call](waiter))
    await until(lambda: waits_for(watcher, waiter, parked), f"{call} waits at {ORDER[place]}")
    held = [await locked(watcher, window) for window in ORDER]
    assert held == [n <= place for n in range(4)]
    await transaction.rollback()
    reply = await waiting
    assert not isinstance(reply, dict) or "status" not in reply, reply


MIXED = {
    "settle and release": ("charge", "resolve", [200, 200], [
        {"request_id": "r1", "action": "settle", "amounts": tokens(1), "reason": "seen"},
        {"request_id": "r2", "action": "release", "reason": "seen"},
    ]),
    "expire and settle": ("charge", "settle", [409, 200], [
        {"request_id": "due", "amounts": tokens(1)},
        {"request_id": "r2", "amounts": tokens(1)},
    ]),
    "lapse and settle": ("keep", "settle", [200, 200], [
        {"request_id": "due", "outcome": "unknown"},
        {"request_id": "r2", "amounts": tokens(1)},
    ]),
}  # fmt: skip
"""Batches that close lines in two steps: what becomes of a hold that is due, the call, and what its items are answered."""


@pytest.mark.parametrize("batch", MIXED)
async def test_a_batch_in_two_steps_has_locked_no_parent_while_it_waits_for_a_child(
    tree, clock, batch
):
    on_expiry, call, statuses, items = MIXED[batch]
    await tree.put_account("bob", parent_id="team")
    await tree.grant("bob", 10**6)
    await tree.grant("ann", 10**6, "first", on_expiry=on_expiry)
    await tree.reserve("due", "ann", tokens(10), ttl_seconds=5)
    await tree.reserve("r2", "bob", tokens(10), ttl_seconds=60)
    clock.advance(seconds=5)
    parked, waiter, watcher = await tree.sessions(3)
    async with parked.connection.transaction():
        await parked.connection.fetch(ROW, "bob", "cap")
        waiting = asyncio.create_task(waiter.many(call, items))
        await until(lambda: waits_for(watcher, waiter, parked), f"{batch} waits for bob's window")
        assert [await locked(watcher, window) for window in ORDER[2:]] == [False, False]
    assert [row.status for row in await waiting] == statuses


async def test_those_who_wait_are_served_one_after_the_other_without_deadlock(tree):
    parked, *waiters = await tree.sessions(9)
    transaction = parked.connection.transaction()
    await transaction.start()
    await parked.connection.fetch(ROW, *ORDER[1])
    tasks = [
        asyncio.create_task(session.reserve(f"w{n}", "ann", tokens(1)))
        for n, session in enumerate(waiters)
    ]
    await until(lambda: all_wait(tree, waiters), "every session waits at a lock")
    await transaction.rollback()
    replies = await asyncio.gather(*tasks)
    assert {r["decision"] for r in replies} == {"authorized"}
    assert (await tree.window("org"))["reserved"] == 10 + len(waiters)


async def all_wait(watcher, waiters):
    count = await watcher.connection.fetchval(
        "select count(*) from pg_stat_activity where pid = any($1) and wait_event_type = 'Lock'",
        [session.pid for session in waiters],
    )
    return count == len(waiters)


async def test_the_root_is_held_no_longer_than_the_commit(tree):
    """A caller stopped at a leaf does not stop its siblings, who only share the root."""
    await tree.put_account("bob", parent_id="team")
    await tree.grant("bob", 10**6)
    parked, waiter, other, watcher = await tree.sessions(4)
    transaction = parked.connection.transaction()
    await transaction.start()
    await parked.connection.fetch(ROW, *ORDER[0])
    waiting = asyncio.create_task(waiter.reserve("stopped", "ann", tokens(1)))
    await until(lambda: waits_for(watcher, waiter, parked), "ann's reserve waits at her window")
    async with asyncio.timeout(10):
        reply = await other.reserve("free", "bob", tokens(1))
    assert reply["decision"] == "authorized"
    await transaction.rollback()
    assert (await waiting)["decision"] == "authorized"


async def test_the_sweep_passes_over_holds_that_somebody_is_settling(tree, clock):
    """Expiry skips what is locked: it is settled where it stands, and not waited for."""
    parked, sweeper = await tree.sessions(2)
    await tree.reserve("late2", "ann", tokens(5), ttl_seconds=1)
    clock.advance(seconds=1)
    transaction = parked.connection.transaction()
    await transaction.start()
    await parked.connection.fetch(
        "select 1 from preauth.reservation where request_id = 'late1' for update"
    )
    async with asyncio.timeout(10):
        swept = await sweeper.call("expire_due", max_count=10)
    assert swept == 1
    await transaction.rollback()
    assert await tree.expire() == 1
