"""Accepting an overage is one decision: made once, and not after another one."""

import pytest

from tests.support.checks import assert_problem
from tests.support.money import tokens


@pytest.fixture
async def review(ledger, clock):
    """A hold of 100 whose settlement of 150 was refused."""
    await ledger.grant("ann", overage="reject")
    await ledger.reserve("r", "ann", tokens(100))
    assert_problem(await ledger.settle("r", tokens(150)), 409, "settlement_exceeds_hold")
    return ledger


async def accept(ledger):
    return await ledger.call("resolve", request_id="r", action="accept_overage", reason="seen")


async def test_it_charges_what_was_refused_and_is_replayed(review):
    first = await accept(review)
    assert (first["amounts"], first["overage"], first["action"]) == (
        tokens(150),
        tokens(50),
        "accept_overage",
    )
    assert await accept(review) == first | {"replayed": True}


async def test_after_a_release_it_is_refused(review):
    await review.call("resolve", request_id="r", action="release", reason="no work was done")
    assert_problem(await accept(review), 409, "already_released")


async def test_after_another_settlement_it_is_refused(review):
    await review.call(
        "resolve", request_id="r", action="settle", amounts=tokens(120), reason="invoice"
    )
    assert_problem(await accept(review), 409, "already_settled")


async def test_where_nothing_was_refused_there_is_nothing_to_accept(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r", "ann", tokens(100))
    reply = await accept(ledger)
    assert_problem(reply, 409, "settlement_conflict")
    assert "no refused overage" in reply["detail"]
