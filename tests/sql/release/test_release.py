"""The provider definitely did no billable work: rows 11 and 12."""

import pytest

from tests.support.checks import assert_problem, assert_same, at
from tests.support.malformed import BAD_IDS, broken
from tests.support.money import MONTH, tokens
from tests.support.session import Figures


@pytest.fixture
async def held(ledger, clock):
    await ledger.grant("org", 5000)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    return ledger


async def test_the_hold_is_returned_to_every_window(held, clock):
    reply = await held.release("r1", "connection refused")
    assert (reply["state"], reply["reason"], reply["replayed"]) == (
        "released", "connection refused", False,
    )  # fmt: skip
    assert at(reply["released_at"]) == clock.now
    assert await held.figures("ann") == Figures(0, 0, 1000)
    assert await held.figures("org") == Figures(0, 0, 5000)


async def test_the_lines_say_what_was_returned_and_what_is_available_on_own_windows(held):
    own, shared = (await held.release("r1"))["lines"]
    assert own == {
        "budget": "cap", "scope": "ann", "unit": "tokens", "window": "lifetime", "amount": 400,
        "available": 1000,
    }  # fmt: skip
    assert (shared["scope"], shared["amount"]) == ("org", 400)
    assert "available" not in shared


async def test_released_twice_the_second_answers_as_the_first(held):
    first = await held.release("r1")
    moved = await held.movements()
    assert_same(first, await held.release("r1"))
    assert await held.movements() == moved


async def test_a_settled_reservation_is_not_released(held):
    await held.settle("r1", tokens(150))
    moved = await held.movements()
    assert_problem(await held.release("r1"), 409, "already_settled")
    assert await held.movements() == moved


async def test_a_denied_reservation_is_not_released(held):
    await held.reserve("r2", "ann", tokens(5000))
    moved = await held.movements()
    assert_problem(await held.release("r2"), 409, "not_authorized")
    assert await held.movements() == moved


async def test_an_unknown_reservation_is_a_404(held):
    before = await held.contents()
    assert_problem(await held.release("r9"), 404, "reservation_unknown")
    assert await held.contents() == before


async def test_an_id_of_two_accounts_needs_the_account(held):
    await held.grant("bob")
    await held.reserve("r1", "bob", tokens(5))
    assert_problem(await held.release("r1"), 409, "account_id_required")
    assert (await held.release("r1", account_id="bob"))["state"] == "released"
    assert await held.figures("ann") == Figures(0, 400, 600)


async def test_a_hold_of_unknown_outcome_can_be_released(held):
    await held.settle("r1", outcome="unknown")
    assert (await held.release("r1"))["state"] == "released"
    assert await held.figures("ann") == Figures(0, 0, 1000)


async def test_a_cancelled_hold_can_be_released(held):
    await held.call("cancel", request_id="r1")
    assert (await held.release("r1"))["state"] == "released"
    assert await held.figures("ann") == Figures(0, 0, 1000)


async def test_a_lapsed_lease_is_given_back_only_once(ledger, clock):
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    await ledger.reserve("r2", "ann", tokens(100), ttl_seconds=60)
    clock.advance(seconds=5)
    assert_problem(await ledger.release("r1"), 409, "hold_lapsed")
    await ledger.expire()
    assert_problem(await ledger.release("r1"), 409, "hold_lapsed")
    assert await ledger.figures("ann") == Figures(0, 100, 900)


async def test_the_hold_is_returned_to_the_window_that_held_it(ledger, clock):
    clock.set("2026-09-30T23:59:59Z")
    await ledger.grant("ann", window=MONTH)
    await ledger.reserve("r1", "ann", tokens(400))
    clock.set("2026-10-01T00:00:05Z")
    await ledger.reserve("r2", "ann", tokens(100))
    (line,) = (await ledger.release("r1"))["lines"]
    assert (line["window"], line["available"]) == ("2026-09", 1000)
    assert await ledger.figures("ann") == Figures(0, 100, 900)


async def test_a_batch_releases_each_item_in_order(held):
    await held.reserve("r2", "ann", tokens(100))
    rows = await held.many(
        "release",
        [{"request_id": i, "reason": "not sent"} for i in ("r2", "r9", "r1", "r2")],
    )
    assert [row.status for row in rows] == [200, 404, 200, 200]
    assert_same(rows[0].body, rows[3].body)
    assert [row.body["lines"][0]["available"] for row in (rows[0], rows[2])] == [600, 1000]


async def test_malformed_releases_name_the_field_and_write_nothing(held):
    good = {"request_id": "r1", "reason": "not sent"}
    cases = {
        **broken("request_id", BAD_IDS),
        **broken("reason", {"none": None, "empty": "", "257": "r" * 257, "a number": 7}),
        **broken("amounts", {"a member of another call": tokens(1)}),
    }
    before, wrong = await held.contents(), []
    for why, (member, value) in cases.items():
        row = await held.one("release", **{**good, member: value})
        if row.status != 400 or member not in str(row.body.get("errors")):
            wrong.append((why, row.status, row.body))
    assert wrong == []
    assert await held.contents() == before
