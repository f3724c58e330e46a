"""Thresholds: what is settled reaching a percentage of the limit is told once a window."""

import asyncio

import pytest

from tests.support.money import DAY, LIFETIME, MONTH, budget, calendar, rolling, tokens

THRESHOLDS = {"thresholds": [80, 85, 95]}


async def told(ledger):
    """What the outbox says, in its order: window, threshold."""
    rows = await ledger.connection.fetch(
        "select body ->> 'window' as window, threshold from preauth.outbox order by message_id"
    )
    return [(row["window"], row["threshold"]) for row in rows]


async def percentages(ledger):
    return [threshold for _, threshold in await told(ledger)]


@pytest.fixture
async def at_79(ledger, clock):
    """A month of 1000 of which 790 are spent and 200 are held."""
    await ledger.grant("ann", window=MONTH, **THRESHOLDS)
    await ledger.charge("c", "ann", tokens(790))
    await ledger.reserve("r", "ann", tokens(200))
    return ledger


async def test_a_settlement_tells_every_threshold_that_it_reaches(at_79):
    assert await told(at_79) == []
    await at_79.settle("r", tokens(170))
    assert await told(at_79) == [("2026-09", 80), ("2026-09", 85), ("2026-09", 95)]


@pytest.mark.parametrize(("spent", "reached"), [(9, []), (10, [80]), (60, [80, 85]), (159, [80, 85]), (160, [80, 85, 95])])  # fmt: skip
async def test_a_threshold_is_reached_at_exactly_its_percentage(at_79, spent, reached):
    await at_79.settle("r", tokens(spent))
    assert await percentages(at_79) == reached


async def test_a_percentage_that_is_no_whole_amount_is_reached_above_it(ledger, clock):
    await ledger.grant("ann", 999, thresholds=[50])
    await ledger.charge("c1", "ann", tokens(499))
    assert await percentages(ledger) == []
    await ledger.charge("c2", "ann", tokens(1))
    assert await percentages(ledger) == [50]


async def test_a_lease_that_has_lapsed_is_not_told_as_held(ledger, clock):
    await ledger.grant("ann", on_expiry="release", thresholds=[50])
    await ledger.reserve("lapsed", "ann", tokens(300), ttl_seconds=1)
    await ledger.reserve("open", "ann", tokens(20), ttl_seconds=1000)
    await ledger.reserve("r", "ann", tokens(500), ttl_seconds=1000)
    clock.advance(seconds=2)
    await ledger.settle("r", tokens(500))
    held = "select (body ->> 'reserved')::bigint from preauth.outbox"
    assert await ledger.connection.fetchval(held) == 20


async def test_what_is_held_reaches_no_threshold(at_79):
    await at_79.reserve("r2", "ann", tokens(10))
    await at_79.release("r2")
    assert await told(at_79) == []


async def test_a_retried_settlement_tells_nothing_again(at_79):
    for _ in range(3):
        await at_79.settle("r", tokens(170))
    assert await percentages(at_79) == [80, 85, 95]


async def test_a_settlement_that_is_undone_tells_nothing(at_79):
    transaction = at_79.connection.transaction()
    await transaction.start()
    await at_79.settle("r", tokens(170))
    assert len(await told(at_79)) == 3
    await transaction.rollback()
    assert await told(at_79) == []


async def test_a_message_holds_the_figures_that_reached_the_threshold(at_79, clock):
    await at_79.settle("r", tokens(10))
    (row,) = await at_79.connection.fetch("select * from preauth.outbox")
    assert (row["account_id"], row["topic"], row["threshold"], row["occurrence"]) == (
        "ann",
        "threshold_reached",
        80,
        1,
    )
    assert row["created_at"] == clock.now
    assert row["body"] == {
        "account_id": "ann", "budget": "cap", "unit": "tokens", "model": None, "enforcement": "hard",
        "window": "2026-09", "starts_at": "2026-09-01T00:00:00.000000Z",
        "ends_at": "2026-10-01T00:00:00.000000Z", "threshold": 80, "limit": 1000, "settled": 800,
        "reserved": 0, "reached_at": "2026-09-14T12:00:00.000000Z",
    }  # fmt: skip


async def test_charges_tell_and_one_batch_tells_once(ledger, clock):
    await ledger.grant("ann", window=MONTH, **THRESHOLDS)
    items = [{"request_id": f"c{n}", "account_id": "ann", "amounts": tokens(100)} for n in range(9)]
    await ledger.many("charge", items)
    assert await percentages(ledger) == [80, 85]


async def test_a_batch_of_settlements_tells_each_threshold_once(ledger, clock):
    await ledger.grant("ann", window=MONTH, **THRESHOLDS)
    for n in range(10):
        await ledger.reserve(f"r{n}", "ann", tokens(100))
    await ledger.many(
        "settle", [{"request_id": f"r{n}", "amounts": tokens(100)} for n in range(10)]
    )
    assert await percentages(ledger) == [80, 85, 95]


async def test_a_late_charge_and_a_recorded_exception_tell(ledger, clock):
    await ledger.grant("ann", window=MONTH, **THRESHOLDS)
    await ledger.reserve("r", "ann", tokens(800))
    await ledger.release("r")
    await ledger.settle("r", tokens(800))
    assert await percentages(ledger) == [80]
    await ledger.charge("x", "ann", tokens(5000), record=True)
    assert await percentages(ledger) == [80, 85, 95]


async def test_a_hold_that_is_charged_when_its_time_has_passed_tells(ledger, clock):
    await ledger.grant("ann", window=MONTH, on_expiry="charge", **THRESHOLDS)
    await ledger.reserve("r", "ann", tokens(900), ttl_seconds=5)
    clock.advance(seconds=5)
    assert await told(ledger) == []
    await ledger.expire()
    assert await percentages(ledger) == [80, 85]


async def test_each_window_tells_anew(at_79, clock):
    await at_79.settle("r", tokens(10))
    clock.set("2026-10-01T00:00:00Z")
    await at_79.charge("c2", "ann", tokens(900))
    assert await told(at_79) == [("2026-09", 80), ("2026-10", 80), ("2026-10", 85)]


async def test_a_settlement_after_the_windows_end_tells_of_the_old_window(at_79, clock):
    clock.set("2026-10-02T00:00:00Z")
    await at_79.settle("r", tokens(10))
    assert await told(at_79) == [("2026-09", 80)]


async def test_a_lowered_limit_tells(at_79):
    await at_79.grant("ann", 900, window=MONTH, **THRESHOLDS)
    assert await percentages(at_79) == [80, 85]


async def test_a_raised_limit_puts_the_next_threshold_off(at_79):
    await at_79.grant("ann", 2000, window=MONTH, **THRESHOLDS)
    await at_79.settle("r", tokens(200))
    assert await told(at_79) == []
    await at_79.charge("c2", "ann", tokens(610))
    assert await percentages(at_79) == [80]


async def test_a_threshold_that_was_told_is_not_told_again_after_a_raise(at_79):
    await at_79.settle("r", tokens(10))
    await at_79.grant("ann", 2000, window=MONTH, **THRESHOLDS)
    await at_79.charge("c2", "ann", tokens(1200))
    assert await percentages(at_79) == [80, 85, 95]


async def test_a_limit_lifted_altogether_tells_nothing_until_there_is_one(at_79):
    await at_79.grant("ann", None, window=MONTH, **THRESHOLDS)
    await at_79.settle("r", tokens(200))
    assert await told(at_79) == []
    await at_79.grant("ann", 1000, window=MONTH, **THRESHOLDS)
    assert await percentages(at_79) == [80, 85, 95]


async def test_a_limit_of_zero_tells_when_anything_is_spent(ledger, clock):
    await ledger.grant("ann", 0, window=MONTH, thresholds=[100])
    await ledger.charge("c1", "ann", tokens(0))
    assert await told(ledger) == []
    await ledger.charge("c2", "ann", tokens(1), record=True)
    assert await percentages(ledger) == [100]


async def test_a_threshold_added_below_what_is_spent_is_told_with_the_change(at_79):
    await at_79.grant("ann", window=MONTH, thresholds=[50, 95])
    assert await percentages(at_79) == [50]
    await at_79.settle("r", tokens(200))
    assert await percentages(at_79) == [50, 95]


async def test_a_threshold_taken_away_is_told_no_more(at_79):
    await at_79.grant("ann", window=MONTH, thresholds=[95])
    await at_79.settle("r", tokens(100))
    assert await told(at_79) == []


async def test_a_plans_changed_thresholds_count_for_all_its_accounts(ledger, clock):
    await ledger.put_plan("p", budget("cap", window=MONTH))
    for account_id in ("ann", "bob"):
        await ledger.put_account(account_id, plan_id="p")
        await ledger.charge("c", account_id, tokens(600))
    await ledger.put_plan("p", budget("cap", window=MONTH, thresholds=[50, 70]))
    assert await percentages(ledger) == [50, 50]
    await ledger.charge("d", "bob", tokens(100))
    assert await percentages(ledger) == [50, 50, 70]


async def test_thresholds_above_100_watch_a_soft_budgets_overdraft(ledger, clock):
    await ledger.grant("ann", 100, enforcement="soft", overdraft_amount=50, thresholds=[100, 150])
    await ledger.charge("c1", "ann", tokens(120))
    assert await percentages(ledger) == [100]
    await ledger.charge("c2", "ann", tokens(30))
    assert await percentages(ledger) == [100, 150]


async def test_an_observing_budget_tells_and_never_denies(ledger, clock):
    await ledger.grant("ann", 100, enforcement="observe", thresholds=[80, 1000])
    for n in range(11):
        assert (await ledger.charge(f"c{n}", "ann", tokens(100)))["decision"] == "authorized"
    assert await percentages(ledger) == [80, 1000]


async def test_every_budget_that_a_settlement_touches_tells(ledger, clock):
    await ledger.grant("org", 100, "all", thresholds=[50])
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 100, "day", window=DAY, thresholds=[60])
    await ledger.grant("ann", 100, "hour", window=calendar("hour"), thresholds=[40, 70])
    await ledger.charge("c", "ann", tokens(65))
    assert sorted(await percentages(ledger)) == [40, 50, 60]


async def test_the_largest_limit_has_thresholds_too(ledger, clock):
    largest = 2**53 - 1
    await ledger.grant("ann", largest, enforcement="observe", thresholds=[100, 1000])
    for n in range(10):
        await ledger.charge(f"c{n}", "ann", tokens(largest))
    assert await percentages(ledger) == [100, 1000]


async def test_a_rolling_window_tells_once_in_each_period(ledger, clock):
    await ledger.grant("ann", window=rolling(60, 6), thresholds=[80])
    await ledger.charge("c1", "ann", tokens(800))
    clock.advance(seconds=30)
    await ledger.charge("c2", "ann", tokens(100))
    assert await percentages(ledger) == [80]
    clock.advance(seconds=40)
    await ledger.charge("c3", "ann", tokens(100))
    assert await percentages(ledger) == [80]
    await ledger.charge("c4", "ann", tokens(600))
    assert await told(ledger) == [("rolling", 80), ("rolling", 80)]
    rows = await ledger.connection.fetch(
        "select occurrence from preauth.outbox order by message_id"
    )
    assert [row["occurrence"] for row in rows] == [1, 2]


async def test_a_rolling_window_tells_of_what_it_counts_not_of_what_has_aged_out(ledger, clock):
    await ledger.grant("ann", window=rolling(60, 6), thresholds=[80])
    for n in range(4):
        await ledger.charge(f"c{n}", "ann", tokens(700))
        clock.advance(seconds=70)
    assert await told(ledger) == []


async def test_settlements_at_once_tell_each_threshold_once(ledger, clock):
    await ledger.grant("ann", 3200, window=LIFETIME, thresholds=[25, 50, 75, 100])
    for n in range(32):
        await ledger.reserve(f"r{n}", "ann", tokens(100))
    calls = [lambda s, n=n: s.settle(f"r{n}", tokens(100)) for n in range(32) for _ in range(2)]
    await asyncio.wait_for(ledger.race(calls, 16), 60)
    assert await percentages(ledger) == [25, 50, 75, 100]
