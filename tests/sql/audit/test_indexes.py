"""The indexes of the audit: each is taken where it is meant, and never in place of a key."""

import pytest

from tests.support.money import tokens

BY_KEY = """
prepare by_key (text, text) as
select x.state from preauth.reservation as x where x.request_id = $1 and x.account_id = $2
"""
OF_ACCOUNT = """
select x.* from preauth.reservation as x
where x.account_id collate "C" = 'ann' and x.created_at <= now() order by x.created_at desc limit 50
"""
AS_CALLS_ARE = (
    "plan_cache_mode = force_generic_plan",
    "enable_seqscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
)


async def plan(ledger, statement):
    return "\n".join(row[0] for row in await ledger.connection.fetch(f"explain {statement}"))


@pytest.mark.parametrize("decisions", [0, 1, 40])
async def test_a_plan_made_while_there_was_little_looks_up_by_the_whole_key(ledger, decisions):
    """A settlement's plan is kept for the life of its connection, whatever the table grows to."""
    await ledger.grant("ann", 1000)
    for n in range(decisions):
        await ledger.reserve(f"r{n}", "ann", tokens(1))
    for setting in AS_CALLS_ARE:
        await ledger.connection.execute(f"set {setting}")
    for analysed in (False, True):
        if analysed:
            await ledger.connection.execute("analyze preauth.reservation")
        await ledger.connection.execute(BY_KEY)
        found = await plan(ledger, "execute by_key ('r0', 'ann')")
        await ledger.connection.execute("deallocate by_key")
        assert "reservation_pkey" in found
        assert "Filter" not in found


async def test_what_an_account_asked_for_is_read_by_its_own_index(ledger):
    await ledger.grant("ann", 1000)
    await ledger.reserve("r", "ann", tokens(1))
    await ledger.connection.execute("set enable_seqscan = off")
    found = await plan(ledger, OF_ACCOUNT)
    assert "Index Scan Backward using reservation_of_account" in found
    assert "Sort" not in found


@pytest.mark.tampered
async def test_a_day_of_spend_is_read_without_the_days_before(ledger):
    """Made-up settlements, a minute apart: what vacuum summarised is skipped."""
    await ledger.connection.execute(
        "insert into preauth.usage_event"
        " (account_id, request_id, kind, amounts, occurred_at, actor)"
        " select 'ann', 'r' || i, 'settlement', '{\"tokens\": 1}',"
        " timestamptz '2026-01-01Z' + interval '1 minute' * i, 'test'"
        " from generate_series(1, 50000) as i"
    )
    await ledger.connection.execute("vacuum analyze preauth.usage_event")
    found = await plan(
        ledger,
        "select sum((u.amounts ->> 'tokens')::bigint) from preauth.usage_event as u"
        " where u.window_id is null"
        " and u.occurred_at >= '2026-01-10Z' and u.occurred_at < '2026-01-11Z'",
    )
    assert "usage_event_by_time" in found
