"""A temporary raise meets other changes: it lasts as long as it was put for, in the unit it was put for, and no longer."""

import pytest

from tests.support.money import DAY, LIFETIME, MAX_AMOUNT, MONTH, budget, tokens
from tests.support.session import Figures

FRIDAY = "2026-09-18T12:00:00Z"
SATURDAY = "2026-09-19T12:00:00Z"


async def put(ledger, amount=50):
    body = {"amount": amount, "expires_at": FRIDAY}
    return await ledger.call("put_raise", account_id="ann", name="cap", body=body)


async def end(ledger):
    return await ledger.call("delete_raise", account_id="ann", name="cap")


async def switch(ledger, plan_id, **body):
    await ledger.call("switch_plan", account_id="ann", body={"plan_id": plan_id, **body})


async def limit(ledger):
    return (await ledger.window("ann"))["limit"]


@pytest.fixture
async def plans(ledger, clock):
    """ann has spent 1 of a month's 100 under plan a; plan b counts days, and plan c something else."""
    await ledger.put_plan("a", budget("cap", 100, window=MONTH))
    await ledger.put_plan("b", budget("cap", 10, window=DAY))
    await ledger.put_plan("c", budget("calls", 10, unit="calls"))
    await ledger.put_account("ann", plan_id="a")
    await ledger.charge("c1", "ann", tokens(1))
    return ledger


async def test_one_that_is_ended_under_another_plan_does_not_come_back_with_the_first(plans):
    await put(plans)
    await switch(plans, "c")
    await end(plans)
    await switch(plans, "a")
    assert await plans.figures("ann") == Figures(1, 0, 99)


async def test_one_that_is_replaced_under_another_plan_is_the_new_one_under_the_first(plans):
    await put(plans)
    await switch(plans, "b")
    await put(plans, 7)
    await switch(plans, "a")
    assert await limit(plans) == 107


async def test_one_that_is_put_under_another_plan_comes_along(plans):
    await switch(plans, "b")
    await put(plans)
    await switch(plans, "a")
    assert await limit(plans) == 150


async def test_one_does_not_come_back_with_a_budget_that_was_retired_meanwhile(ledger, clock):
    await ledger.grant("ann", 100, window=MONTH)
    await ledger.charge("c1", "ann", tokens(1))
    await put(ledger)
    await ledger.call("delete_budget", account_id="ann", name="cap")
    await end(ledger)
    await ledger.grant("ann", 100, window=MONTH)
    assert await limit(ledger) == 100


async def test_a_budget_of_that_name_in_another_unit_is_not_raised(ledger, clock):
    await ledger.grant("ann", 100, unit="usd_nano", window=MONTH)
    await put(ledger, 10_000_000_000)
    await ledger.grant("ann", 100, window=MONTH)
    assert await limit(ledger) == 100
    await ledger.charge("c1", "ann", tokens(1))
    assert await limit(ledger) == 100
    await ledger.grant("ann", 100, unit="usd_nano", window=MONTH)
    assert await limit(ledger) == 10_000_000_100


async def test_the_limit_put_meanwhile_is_the_limit_after_the_largest_raise(ledger, clock):
    await ledger.grant("ann", 100, window=MONTH)
    await ledger.charge("c1", "ann", tokens(1))
    await put(ledger, MAX_AMOUNT)
    await ledger.grant("ann", 200, window=MONTH)
    assert await limit(ledger) == MAX_AMOUNT
    await end(ledger)
    assert await ledger.figures("ann") == Figures(1, 0, 199)


async def test_the_limit_of_another_plan_is_the_limit_after_the_largest_raise(plans, clock):
    await plans.put_plan("big", budget("cap", 200, window=MONTH))
    await put(plans, MAX_AMOUNT)
    await switch(plans, "big")
    clock.set(FRIDAY)
    assert await limit(plans) == 200


async def test_one_put_on_an_unlimited_window_applies_when_the_limit_comes_back(ledger, clock):
    await ledger.grant("ann", None, window=MONTH)
    await ledger.charge("c1", "ann", tokens(1))
    await put(ledger)
    await ledger.grant("ann", 100, window=MONTH)
    assert await ledger.figures("ann") == Figures(1, 0, 149)
    clock.set(FRIDAY)
    assert await ledger.figures("ann") == Figures(1, 0, 99)


async def test_the_present_plan_now_gives_a_window_that_never_ends_the_plans_limit(ledger, clock):
    await ledger.put_plan("a", budget("cap", 100, window=LIFETIME))
    await ledger.put_plan("b", budget("cap", 60, window=LIFETIME))
    await ledger.put_account("ann", plan_id="a")
    await ledger.charge("c1", "ann", tokens(1))
    await switch(ledger, "b", apply="next_window")
    assert await limit(ledger) == 100
    await switch(ledger, "b", apply="now")
    assert await limit(ledger) == 60


@pytest.mark.parametrize("end_it", ["settle", "release"])
async def test_what_is_left_after_a_hold_ends_counts_no_raise_that_has_ended(ledger, clock, end_it):
    await ledger.grant("ann", 100)
    await put(ledger)
    await ledger.reserve("r", "ann", tokens(10))
    clock.set(SATURDAY)
    reply = await (ledger.settle("r", tokens(10)) if end_it == "settle" else ledger.release("r"))
    assert reply["lines"][0]["available"] == (await ledger.figures("ann")).available
