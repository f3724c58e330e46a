"""A person decides what is stuck: an overage in review, or an unknown outcome."""

import pytest

from tests.support.checks import assert_problem
from tests.support.malformed import BAD_IDS, broken
from tests.support.money import tokens
from tests.support.session import Figures


async def resolve(ledger, action, request_id="r1", reason="checked the invoice", **more):
    return await ledger.call("resolve", request_id=request_id, action=action, reason=reason, **more)


@pytest.fixture
async def review(ledger, clock):
    """r1 holds 1000 of ann's 10,000 tokens; its settlement of 1500 was refused."""
    await ledger.grant("ann", 10_000, overage="reject")
    await ledger.reserve("r1", "ann", tokens(1000))
    await ledger.settle("r1", tokens(1500))
    return ledger


@pytest.fixture
async def stuck(ledger, clock):
    """r1 holds 1000 of ann's 10,000 tokens; nobody knows what it used."""
    await ledger.grant("ann", 10_000)
    await ledger.reserve("r1", "ann", tokens(1000))
    await ledger.settle("r1", outcome="unknown")
    return ledger


async def test_accepting_the_overage_spends_what_was_reported(review):
    reply = await resolve(review, "accept_overage")
    assert (reply["state"], reply["resolved"], reply["overage"]) == (
        "settled", True, {"tokens": 500},
    )  # fmt: skip
    assert await review.figures("ann") == Figures(1500, 0, 8500)


async def test_settling_with_other_amounts_spends_those(review):
    reply = await resolve(review, "settle", amounts=tokens(900))
    assert (reply["state"], reply["resolved"]) == ("settled", True)
    assert await review.figures("ann") == Figures(900, 0, 9100)


async def test_releasing_gives_the_hold_back(review):
    reply = await resolve(review, "release")
    assert (reply["state"], reply["resolved"]) == ("released", True)
    assert await review.figures("ann") == Figures(0, 0, 10_000)


async def test_an_unknown_outcome_is_settled_by_a_person(stuck):
    assert (await resolve(stuck, "settle", amounts=tokens(700)))["state"] == "settled"
    assert await stuck.figures("ann") == Figures(700, 0, 9300)


async def test_an_unknown_outcome_is_released_by_a_person(stuck):
    assert (await resolve(stuck, "release"))["state"] == "released"
    assert await stuck.figures("ann") == Figures(0, 0, 10_000)


async def test_a_person_may_settle_what_nobody_waits_for(ledger, clock):
    """A hold that is open still: as resolved as any other, and in the log."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    reply = await resolve(ledger, "settle", amounts=tokens(150))
    assert (reply["state"], reply["resolved"], reply["action"]) == ("settled", True, "settle")
    assert await ledger.count("change_log", "subject = 'reservation'") == 1
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_a_resolution_moves_the_money_once(review):
    await resolve(review, "accept_overage")
    moved = await review.movements()
    await resolve(review, "accept_overage")
    await resolve(review, "release")
    assert await review.movements() == moved


async def test_what_is_settled_is_not_released_by_a_resolution(stuck):
    await stuck.settle("r1", tokens(700))
    moved = await stuck.movements()
    reply = await resolve(stuck, "release")
    assert reply["status"] == 409
    assert await stuck.movements() == moved


async def test_the_reason_and_the_person_are_in_the_timeline(review):
    rows = await review.many(
        "resolve",
        [{"request_id": "r1", "action": "release", "reason": "refunded by the provider"}],
        actors=["key_carla"],
    )
    assert rows[0].status == 200
    timeline = (await review.reservation("r1"))["timeline"]
    assert any(
        e["actor"] == "key_carla" and "refunded by the provider" in str(e) for e in timeline
    ), timeline


async def test_after_the_resolution_the_refused_settlement_is_answered_without_moving_money(review):
    await resolve(review, "settle", amounts=tokens(900))
    moved = await review.movements()
    await review.settle("r1", tokens(1500))
    assert await review.movements() == moved


async def test_there_is_no_overage_to_accept_in_an_unknown_outcome(stuck):
    moved = await stuck.movements()
    reply = await resolve(stuck, "accept_overage")
    assert reply["status"] in {400, 409}
    assert await stuck.movements() == moved


async def test_an_unknown_reservation_is_a_404(review):
    assert_problem(await resolve(review, "release", "r9"), 404, "reservation_unknown")


async def test_amounts_go_with_settle_only(review):
    before = await review.contents()
    for action, more in (("settle", {}), ("release", {"amounts": tokens(1)})):
        assert_problem(await resolve(review, action, **more), 400, "malformed")
    assert await review.contents() == before


async def test_malformed_resolutions_name_the_field_and_write_nothing(review):
    good = {"request_id": "r1", "action": "release", "reason": "checked"}
    cases = {
        **broken("request_id", BAD_IDS),
        **broken("action", {"none": None, "another word": "forget", "a number": 1}),
        **broken("reason", {"none": None, "empty": "", "a number": 7}),
        **broken("outcome", {"a member of another call": "completed"}),
    }
    before, wrong = await review.contents(), []
    for why, (member, value) in cases.items():
        row = await review.one("resolve", **{**good, member: value})
        if row.status != 400 or member not in str(row.body.get("errors")):
            wrong.append((why, row.status, row.body))
    assert wrong == []
    assert await review.contents() == before
