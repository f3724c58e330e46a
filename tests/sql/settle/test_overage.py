"""Rows 7 and 8: a settlement above its hold."""

import pytest

from tests.support.checks import assert_problem, assert_same
from tests.support.money import tokens
from tests.support.session import Figures


async def hold(ledger, overage, limit=10_000):
    await ledger.grant("ann", limit, overage=overage)
    await ledger.reserve("r1", "ann", tokens(1000))


async def test_under_charge_the_whole_usage_is_spent_and_the_overage_flagged(ledger, clock):
    await hold(ledger, "charge")
    reply = await ledger.settle("r1", tokens(1500))
    assert (reply["state"], reply["overage"]) == ("settled", {"tokens": 500})
    assert (reply["lines"][0]["amount"], reply["lines"][0]["overage"]) == (1500, 500)
    assert await ledger.figures("ann") == Figures(1500, 0, 8500)
    assert await ledger.count("usage_event", "overage is not null") == 1


async def test_an_overage_may_exceed_the_limit_and_then_denies(ledger, clock):
    await hold(ledger, "charge", 1000)
    await ledger.settle("r1", tokens(1500))
    assert await ledger.figures("ann") == Figures(1500, 0, -500)
    assert (await ledger.reserve("r2", "ann", tokens(1)))["decision"] == "denied"


async def test_an_overage_again_is_the_first_result(ledger, clock):
    await hold(ledger, "charge")
    first = await ledger.settle("r1", tokens(1500))
    assert_same(first, await ledger.settle("r1", tokens(1500)))
    assert await ledger.figures("ann") == Figures(1500, 0, 8500)


async def test_under_reject_it_is_refused_and_the_hold_stays_for_review(ledger, clock):
    await hold(ledger, "reject")
    moved = await ledger.movements()
    assert_problem(await ledger.settle("r1", tokens(1500)), 409, "settlement_exceeds_hold")
    assert await ledger.movements() == moved
    assert (await ledger.reservation("r1"))["state"] == "overage_review"
    assert await ledger.figures("ann") == Figures(0, 1000, 9000)


async def test_under_reject_the_refusal_repeats_and_moves_nothing(ledger, clock):
    await hold(ledger, "reject")
    for _ in range(3):
        reply = await ledger.settle("r1", tokens(1500))
        assert_problem(reply, 409, "settlement_exceeds_hold")
    assert await ledger.figures("ann") == Figures(0, 1000, 9000)


@pytest.mark.parametrize("used", [999, 1000])
async def test_under_reject_what_is_within_the_hold_settles(ledger, clock, used):
    await hold(ledger, "reject")
    assert (await ledger.settle("r1", tokens(used)))["state"] == "settled"


async def test_one_rejecting_budget_among_several_keeps_every_hold(ledger, clock):
    await ledger.grant("org", 10_000, overage="reject")
    await ledger.put_account("ann", parent_id="org")
    await hold(ledger, "charge")
    assert_problem(await ledger.settle("r1", tokens(1500)), 409, "settlement_exceeds_hold")
    assert await ledger.figures("ann") == Figures(0, 1000, 9000)
    assert await ledger.figures("org") == Figures(0, 1000, 9000)


async def test_a_hold_in_review_does_not_lapse(ledger, clock):
    await ledger.grant("ann", 10_000, overage="reject", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(1000), ttl_seconds=5)
    assert_problem(await ledger.settle("r1", tokens(1500)), 409, "settlement_exceeds_hold")
    clock.advance(seconds=60)
    await ledger.expire()
    assert await ledger.figures("ann") == Figures(0, 1000, 9000)
    assert (await ledger.reservation("r1"))["state"] == "overage_review"


async def test_a_unit_used_but_not_held_is_an_overage_where_its_budget_charges(ledger, clock):
    await ledger.grant("ann", 10_000)
    await ledger.reserve("r1", "ann", tokens(0))
    reply = await ledger.settle("r1", tokens(7))
    assert reply["overage"] == {"tokens": 7}
    assert await ledger.figures("ann") == Figures(7, 0, 9993)


async def test_a_hold_in_review_is_not_released_by_its_caller(ledger, clock):
    await hold(ledger, "reject")
    await ledger.settle("r1", tokens(1500))
    assert_problem(await ledger.release("r1"), 409, "settlement_exceeds_hold")
    assert await ledger.figures("ann") == Figures(0, 1000, 9000)


async def test_a_hold_in_review_is_not_settled_by_less_either(ledger, clock):
    """A person has been asked: what the caller says next does not decide it."""
    await hold(ledger, "reject")
    await ledger.settle("r1", tokens(1500))
    assert_problem(await ledger.settle("r1", tokens(10)), 409, "settlement_exceeds_hold")
    assert await ledger.figures("ann") == Figures(0, 1000, 9000)
