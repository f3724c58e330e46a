"""The user pressed Stop: the hold stays until somebody says what was used."""

import pytest

from tests.support.checks import assert_problem, assert_same
from tests.support.malformed import BAD_IDS, broken
from tests.support.money import tokens
from tests.support.session import Figures


async def cancel(ledger, request_id="r1", **more):
    return await ledger.call("cancel", request_id=request_id, **more)


@pytest.fixture
async def held(ledger, clock):
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=60)
    return ledger


async def test_the_hold_stays_and_the_state_says_so(held):
    expires_at = (await held.reservation("r1"))["expires_at"]
    reply = await cancel(held)
    assert reply == {
        "request_id": "r1", "account_id": "ann", "state": "cancellation_requested",
        "expires_at": expires_at, "replayed": False,
    }  # fmt: skip
    assert (await held.reservation("r1"))["state"] == "cancellation_requested"
    assert await held.figures("ann") == Figures(0, 400, 600)


async def test_cancelled_twice_the_second_answers_as_the_first(held):
    first = await cancel(held)
    assert_same(first, await cancel(held))
    assert await held.count("reservation_event", "event = 'cancellation_requested'") == 1


async def test_a_cancelled_lease_still_lapses(held, clock):
    await cancel(held)
    clock.advance(seconds=60)
    assert await held.figures("ann") == Figures(0, 0, 1000)


async def test_the_timeline_shows_the_request(held):
    await cancel(held)
    events = [e["event"] for e in (await held.reservation("r1"))["timeline"]]
    assert events[-1] == "cancellation_requested"


@pytest.mark.parametrize(
    ("ended", "code"),
    [("settle", "already_settled"), ("release", "already_released"), ("deny", "not_authorized")],
)
async def test_what_is_over_cannot_be_cancelled(held, ended, code):
    if ended == "settle":
        await held.settle("r1", tokens(1))
    elif ended == "release":
        await held.release("r1")
    else:
        await held.reserve("r2", "ann", tokens(5000))
    moved = await held.movements()
    assert_problem(await cancel(held, "r2" if ended == "deny" else "r1"), 409, code)
    assert await held.movements() == moved


async def test_an_unknown_reservation_is_a_404(held):
    assert_problem(await cancel(held, "r9"), 404, "reservation_unknown")


async def test_an_id_of_two_accounts_needs_the_account(held):
    await held.grant("bob")
    await held.reserve("r1", "bob", tokens(5))
    assert_problem(await cancel(held), 409, "account_id_required")
    assert (await cancel(held, account_id="ann"))["account_id"] == "ann"


async def test_malformed_cancellations_name_the_field_and_write_nothing(held):
    cases = {
        **broken("request_id", BAD_IDS),
        **broken("account_id", {"129 characters": "a" * 129, "a number": 7}),
        **broken("reason", {"a member of another call": "x"}),
    }
    before, wrong = await held.contents(), []
    for why, (member, value) in cases.items():
        row = await held.one("cancel", **{"request_id": "r1", member: value})
        if row.status != 400 or member not in str(row.body.get("errors")):
            wrong.append((why, row.status, row.body))
    assert wrong == []
    assert await held.contents() == before
