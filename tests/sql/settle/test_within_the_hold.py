"""Rows 4, 5, 6, 14: a settlement returns the hold and spends what was used, once."""

import pytest

from tests.support.checks import assert_problem, assert_same, at
from tests.support.money import CENT, tokens, usd
from tests.support.session import Figures


@pytest.fixture
async def held(ledger, clock):
    """400 of ann's 1000 tokens are held by r1."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    return ledger


@pytest.mark.parametrize("used", [0, 1, 399, 400])
async def test_the_rest_of_the_hold_is_available_at_once(held, used):
    await held.settle("r1", tokens(used))
    assert await held.figures("ann") == Figures(used, 0, 1000 - used)
    reply = await held.reserve("r2", "ann", tokens(1000 - used))
    assert reply["decision"] == "authorized"


async def test_a_settlement_has_the_members_of_the_contract(held, clock):
    reply = await held.settle("r1", tokens(150), account_id="ann", provider_request_id="msg_1")
    assert reply["lines"] == [
        {
            "budget": "cap", "scope": "ann", "unit": "tokens", "window": "lifetime", "held": 400,
            "amount": 150, "overage": 0, "settled": 150, "reserved": 0, "available": 850,
        }
    ]  # fmt: skip
    rest = {k: v for k, v in reply.items() if k not in {"lines", "settled_at"}}
    assert rest == {
        "request_id": "r1", "account_id": "ann", "state": "settled", "outcome": "completed",
        "amounts": {"tokens": 150}, "overage": {}, "late": False, "replayed": False,
    }  # fmt: skip
    assert at(reply["settled_at"]) == clock.now


async def test_the_same_settlement_again_is_the_first_result(held):
    first = await held.settle("r1", tokens(150))
    moved = await held.movements()
    assert_same(first, await held.settle("r1", tokens(150)))
    assert await held.movements() == moved


async def test_a_replay_shows_the_figures_of_then(held):
    first = await held.settle("r1", tokens(150))
    await held.charge("c1", "ann", tokens(300))
    assert_same(first, await held.settle("r1", tokens(150)))


async def test_another_usage_is_a_conflict_that_moves_nothing_and_is_audited(held):
    await held.settle("r1", tokens(150))
    moved = await held.movements()
    seen = len((await held.reservation("r1"))["timeline"])
    reply = await held.settle("r1", tokens(151))
    assert_problem(reply, 409, "settlement_conflict")
    assert await held.movements() == moved
    timeline = (await held.reservation("r1"))["timeline"]
    assert len(timeline) == seen + 1
    assert "settlement_conflict" in {event["event"] for event in timeline}


async def test_after_a_conflict_the_first_settlement_is_still_replayed(held):
    first = await held.settle("r1", tokens(150))
    await held.settle("r1", tokens(151))
    assert_same(first, await held.settle("r1", tokens(150)))


async def test_a_hold_whose_cancellation_was_requested_settles_as_usual(held):
    await held.call("cancel", request_id="r1")
    reply = await held.settle("r1", tokens(150))
    assert (reply["state"], reply["late"]) == ("settled", False)
    assert await held.figures("ann") == Figures(150, 0, 850)


async def test_an_interrupted_call_settles_what_it_used(held):
    reply = await held.settle("r1", tokens(3), outcome="interrupted")
    assert (reply["state"], reply["outcome"]) == ("settled", "interrupted")
    assert await held.figures("ann") == Figures(3, 0, 997)


async def test_the_usage_event_keeps_the_providers_id(held):
    await held.settle("r1", tokens(3), provider_request_id="msg_01 (retry)")
    stored = await held.connection.fetchval("select provider_request_id from preauth.usage_event")
    assert stored == "msg_01 (retry)"


async def test_an_unknown_request_id_is_a_404(held):
    before = await held.contents()
    assert_problem(await held.settle("r9", tokens(1)), 404, "reservation_unknown")
    assert_problem(await held.settle("r1", tokens(1), account_id="bob"), 404, "reservation_unknown")
    assert await held.contents() == before


async def test_a_request_id_of_two_accounts_needs_the_account(held):
    await held.grant("bob")
    await held.reserve("r1", "bob", tokens(5))
    before = await held.contents()
    assert_problem(await held.settle("r1", tokens(1)), 409, "account_id_required")
    assert await held.contents() == before
    reply = await held.settle("r1", tokens(1), account_id="bob")
    assert reply["account_id"] == "bob"
    assert (await held.window("ann"))["reserved"] == 400


async def test_a_denied_reservation_cannot_be_settled(held):
    await held.reserve("r2", "ann", tokens(5000))
    moved = await held.movements()
    assert_problem(await held.settle("r2", tokens(1)), 409, "not_authorized")
    assert await held.movements() == moved


async def test_every_window_of_the_reservation_is_settled(ledger, clock):
    await ledger.grant("org", 9000)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann")
    await ledger.grant("ann", 50 * CENT, "money", unit="usd_nano")
    await ledger.reserve("r1", "ann", {**tokens(400), **usd(5 * CENT)})
    await ledger.settle("r1", {**tokens(30), **usd(CENT)})
    assert await ledger.figures("ann") == Figures(30, 0, 970)
    assert await ledger.figures("ann", "money") == Figures(CENT, 0, 49 * CENT)
    assert await ledger.figures("org") == Figures(30, 0, 8970)


async def test_the_request_is_spent_whatever_the_usage(ledger, clock):
    await ledger.grant("ann", 3, "rate", unit="requests")
    await ledger.reserve("r1", "ann", tokens(10))
    await ledger.settle("r1", tokens(0))
    assert await ledger.figures("ann", "rate") == Figures(1, 0, 2)


async def test_a_budget_retired_meanwhile_is_settled_all_the_same(held):
    await held.call("delete_budget", account_id="ann", name="cap")
    reply = await held.settle("r1", tokens(150))
    assert (reply["lines"][0]["settled"], reply["lines"][0]["reserved"]) == (150, 0)


async def test_a_suspended_account_can_still_settle(held):
    await held.put_account("ann", status="suspended")
    await held.settle("r1", tokens(150))
    assert await held.figures("ann") == Figures(150, 0, 850)
