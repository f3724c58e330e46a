"""Rows 9 and 16: usage that is reported after the hold is gone is charged, once, as late."""

import pytest

from tests.support.checks import assert_same
from tests.support.money import MONTH, tokens
from tests.support.session import Figures


async def lapse(ledger, clock, *, swept):
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=5)
    if swept:
        assert await ledger.expire() == 1


@pytest.mark.parametrize("swept", [True, False])
async def test_after_the_hold_lapsed_the_usage_is_charged_once_as_late(ledger, clock, swept):
    await lapse(ledger, clock, swept=swept)
    first = await ledger.settle("r1", tokens(150))
    assert (first["state"], first["late"]) == ("settled", True)
    assert_same(first, await ledger.settle("r1", tokens(150)))
    assert await ledger.figures("ann") == Figures(150, 0, 850)
    assert await ledger.count("usage_event", "kind = 'late_charge'") == 1


async def test_one_instant_before_the_lapse_it_is_not_late(ledger, clock):
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=4, microseconds=999_999)
    assert (await ledger.settle("r1", tokens(150)))["late"] is False


async def test_a_sweep_after_the_late_charge_changes_nothing(ledger, clock):
    await lapse(ledger, clock, swept=False)
    await ledger.settle("r1", tokens(150))
    assert await ledger.expire() == 0
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_after_a_release_the_usage_is_charged_once_as_late(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    await ledger.release("r1")
    first = await ledger.settle("r1", tokens(150))
    assert (first["state"], first["late"]) == ("settled", True)
    assert_same(first, await ledger.settle("r1", tokens(150)))
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_a_late_charge_is_spent_even_where_nothing_is_available(ledger, clock):
    await lapse(ledger, clock, swept=True)
    await ledger.charge("c1", "ann", tokens(1000))
    await ledger.settle("r1", tokens(150))
    assert await ledger.figures("ann") == Figures(1150, 0, -150)


async def test_the_room_of_a_lapsed_hold_was_already_given_to_others(ledger, clock):
    await lapse(ledger, clock, swept=False)
    assert (await ledger.reserve("r2", "ann", tokens(1000)))["decision"] == "authorized"
    await ledger.settle("r1", tokens(150))
    assert await ledger.figures("ann") == Figures(150, 1000, -150)


async def test_a_kept_hold_past_its_time_settles_against_its_hold(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=500)
    await ledger.expire()
    await ledger.settle("r1", tokens(150))
    assert await ledger.figures("ann") == Figures(150, 0, 850)


@pytest.mark.parametrize("swept", [True, False])
async def test_a_late_charge_is_posted_to_the_window_that_held_it(ledger, clock, swept):
    clock.set("2026-09-30T23:59:58Z")
    await ledger.grant("ann", window=MONTH, on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=1)
    clock.set("2026-10-01T00:00:05Z")
    if swept:
        await ledger.expire()
    (line,) = (await ledger.settle("r1", tokens(150)))["lines"]
    assert (line["window"], line["settled"]) == ("2026-09", 150)
    assert (await ledger.window("ann"))["settled"] == 0


async def test_a_kept_hold_is_not_late_because_its_slot_of_open_holds_has_lapsed(ledger, clock):
    await ledger.grant("ann")
    await ledger.put_account("ann", max_open_holds=5)
    await ledger.reserve("r", "ann", tokens(900), ttl_seconds=1)
    clock.advance(seconds=2)
    await ledger.expire()
    assert (await ledger.settle("r", tokens(100)))["late"] is False


async def test_a_late_charge_is_not_held_up_by_a_budget_that_rejects_overage(ledger, clock):
    """Nothing is held any more that could stay: the money was spent."""
    await ledger.grant("ann", on_expiry="release", overage="reject")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=5)
    reply = await ledger.settle("r1", tokens(500))
    assert (reply["state"], reply["late"]) == ("settled", True)
    assert await ledger.figures("ann") == Figures(500, 0, 500)
