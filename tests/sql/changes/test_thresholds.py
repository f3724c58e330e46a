"""Corrections, raises and switches are told when they make a window reach a threshold."""

import pytest

from tests.support.money import MONTH, budget, rolling, tokens


async def told(ledger) -> list[int]:
    rows = await ledger.connection.fetch("select threshold from preauth.outbox order by 1")
    return [row[0] for row in rows]


@pytest.fixture
async def spent(ledger, clock):
    """ann has spent 790 of free's 1000, with thresholds at 80 and 95 percent."""
    await ledger.put_plan("free", budget("cap", 1000, window=MONTH, thresholds=[80, 95]))
    await ledger.put_account("ann", plan_id="free")
    await ledger.charge("c1", "ann", tokens(790))
    return ledger


async def adjust(ledger, amount):
    body = {"budget": "cap", "amount": amount, "reason": "x", "idempotency_key": f"k{amount}"}
    return await ledger.call("adjust", account_id="ann", body=body)


async def test_an_adjustment_that_reaches_thresholds_is_told_once_each(spent):
    for _ in range(2):
        await adjust(spent, 170)
    assert await told(spent) == [80, 95]


async def test_the_end_of_a_raise_tells_what_is_reached_without_it(spent, clock):
    body = {"amount": 1000, "expires_at": "2026-09-15T00:00:00Z"}
    await spent.call("put_raise", account_id="ann", name="cap", body=body)
    await spent.charge("c2", "ann", tokens(20))
    assert await told(spent) == []
    clock.set("2026-09-15T00:00:00Z")
    await spent.call("apply_due", max_count=10)
    assert await told(spent) == [80]


async def test_the_end_of_a_raise_is_told_by_the_first_decision_after_it(spent, clock):
    body = {"amount": 1000, "expires_at": "2026-09-15T00:00:00Z"}
    await spent.call("put_raise", account_id="ann", name="cap", body=body)
    await spent.charge("c2", "ann", tokens(20))
    clock.set("2026-09-15T00:00:00Z")
    await spent.reserve("r", "ann", tokens(500))
    assert await told(spent) == [80]
    await spent.call("apply_due", max_count=10)
    assert await told(spent) == [80]


async def test_another_plan_with_less_tells_what_is_reached_under_it(spent):
    await spent.put_plan("less", budget("cap", 800, window=MONTH, thresholds=[50, 90]))
    await spent.call("switch_plan", account_id="ann", body={"plan_id": "less"})
    assert await told(spent) == [50, 90]


async def test_carried_overspend_that_reaches_a_threshold_is_told(ledger, clock):
    more = {"thresholds": [50], "rollover": {"max": 0, "overspend": True}}
    await ledger.grant("ann", 100, window=MONTH, **more)
    await ledger.charge("c1", "ann", tokens(160), record=True)
    clock.set("2026-10-01T00:00:00Z")
    await ledger.charge("c2", "ann", tokens(1))
    assert await told(ledger) == [50, 50]


async def test_an_adjustment_of_a_rolling_window_ages_out_like_spend(ledger, clock):
    await ledger.grant("ann", 1000, window=rolling(3600, 6))
    await ledger.charge("c1", "ann", tokens(300))
    clock.advance(seconds=1800)
    await adjust(ledger, 200)
    assert (await ledger.figures("ann")).settled == 500
    clock.advance(seconds=2400)
    assert (await ledger.figures("ann")).settled == 200
    clock.advance(seconds=3600)
    assert (await ledger.figures("ann")).settled == 0


async def test_a_rolling_window_is_reset_and_taken_up(ledger, clock):
    await ledger.put_plan("a", budget("cap", 1000, window=rolling(3600, 6)))
    await ledger.put_plan("b", budget("cap", 2000, window=rolling(3600, 6)))
    await ledger.put_account("ann", plan_id="a")
    await ledger.charge("c1", "ann", tokens(300))
    await ledger.call("switch_plan", account_id="ann", body={"plan_id": "b"})
    assert (await ledger.figures("ann")).available == 1700
    await ledger.call("reset", account_id="ann", body={"budget": "cap", "reason": "x"})
    assert (await ledger.figures("ann")).available == 2000


async def test_a_plan_that_has_come_by_time_alone_tells_by_its_own_thresholds_once_written_down(
    spent, clock
):
    await spent.put_plan("less", budget("cap", 800, window=MONTH, thresholds=[10, 50]))
    body = {"plan_id": "less", "apply": "next_window"}
    await spent.call("switch_plan", account_id="ann", body=body)
    clock.set("2026-10-01T00:00:00Z")
    await spent.charge("c2", "ann", tokens(400))
    assert await spent.connection.fetch("select * from preauth_api.verify()") == []
    assert await spent.connection.fetch("select * from preauth_api.verify()") == []
    await spent.call("apply_due", max_count=10)
    assert await told(spent) == [10, 50]
