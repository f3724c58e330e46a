"""A plan lives as long as its connection: one that was made while the ledger was small must still look up by key."""

import pytest

from tests.support.money import tokens

READ = """
select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::integer
from pg_stat_xact_all_tables where schemaname = 'preauth'
"""
CALLS = {
    "reserve": {"amounts": tokens(1)},
    "charge": {"amounts": tokens(1)},
    "settle": {"amounts": tokens(1)},
    "release": {"reason": "not sent"},
    "extend": {"ttl_seconds": 600},
    "cancel": {},
}
ROWS = 1500


def items(call, *names):
    return [{"request_id": name, "account_id": "ann", **CALLS[call]} for name in names]


async def hold(session, *names):
    for first in range(0, len(names), 500):
        await session.many("reserve", items("reserve", *names[first : first + 500]))


def fresh(call, *names):
    """What a call names: a reservation that is there, or a new one."""
    return [f"{call}-{n}" for n in names] if call in {"reserve", "charge"} else list(names)


@pytest.mark.parametrize("call", CALLS)
async def test_rows_that_came_later_are_not_read_through(ledger, call):
    await ledger.grant("ann", 9_000_000, on_expiry="release")
    await hold(ledger, "first")
    await ledger.connection.execute("analyze")
    old = await ledger.connect()
    for n in range(7):  # a plan is made for good after five
        await hold(ledger, f"warm{n}")
        await old.many(call, items(call, *fresh(call, f"warm{n}")))
    await hold(ledger, *(f"r{n}" for n in range(ROWS)))
    async with old.connection.transaction():
        await old.many(call, items(call, *fresh(call, "r7")))
        read = await old.connection.fetchval(READ)
    assert read < ROWS / 10
