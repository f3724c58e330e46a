"""A reset is an adjustment to nothing settled."""

import pytest

from tests.support.checks import assert_problem, assert_same
from tests.support.money import MONTH, rolling, tokens
from tests.support.session import Figures


async def reset(ledger, account_id="ann", actor=None, **more):
    body = {"budget": "cap", "reason": "goodwill", **more}
    return await ledger.call("reset", account_id=account_id, body=body, actor=actor)


@pytest.fixture
async def spent(ledger, clock):
    """ann has spent 600 of her 1000 tokens this month and holds 100."""
    await ledger.grant("ann", 1000, window=MONTH)
    await ledger.charge("c1", "ann", tokens(600))
    await ledger.reserve("r1", "ann", tokens(100))
    return ledger


async def test_nothing_is_settled_afterwards_and_what_is_held_stays_held(spent):
    reply = await reset(spent)
    assert (reply["amount"], reply["settled"], reply["reserved"], reply["available"]) == (
        -600, 0, 100, 900,
    )  # fmt: skip
    assert await spent.figures("ann") == Figures(0, 100, 900)


async def test_it_is_an_adjustment_with_its_reason_and_no_line_changes(spent):
    lines = await spent.contents("hold_line", "reservation")
    await reset(spent, actor="key_carla")
    assert await spent.contents("hold_line", "reservation") == lines
    row = await spent.connection.fetchrow(
        "select amounts, actor, reason from preauth.usage_event where kind = 'adjustment'"
    )
    assert tuple(row) == ({"tokens": -600}, "key_carla", "goodwill")


async def test_where_nothing_is_settled_nothing_moves(spent):
    await reset(spent)
    moved = await spent.movements()
    assert (await reset(spent))["amount"] == 0
    assert await spent.movements() == moved


async def test_where_all_has_aged_out_of_a_rolling_window_it_says_so(ledger, clock):
    await ledger.grant("ann", 1000, window=rolling(60, 6))
    await ledger.charge("c1", "ann", tokens(600))
    clock.advance(seconds=70)
    reply = await reset(ledger)
    assert (reply["amount"], reply["settled"], reply["available"]) == (0, 0, 1000)
    assert await ledger.figures("ann") == Figures(0, 0, 1000)
    assert await ledger.count("change_log", "subject = 'window'") == 0


async def test_what_was_given_back_too_much_is_taken_back(spent):
    body = {"budget": "cap", "amount": -700, "reason": "x", "idempotency_key": "a"}
    await spent.call("adjust", account_id="ann", body=body)
    assert (await reset(spent))["amount"] == 100


async def test_with_a_key_a_retry_does_not_reset_what_was_spent_since(spent):
    first = await reset(spent, idempotency_key="goodwill-1")
    await spent.charge("c2", "ann", tokens(30))
    assert_same(first, await reset(spent, idempotency_key="goodwill-1"))
    assert (await spent.figures("ann")).settled == 30


async def test_a_key_of_an_adjustment_is_not_one_of_a_reset(spent):
    body = {"budget": "cap", "amount": -600, "reason": "goodwill", "idempotency_key": "k"}
    await spent.call("adjust", account_id="ann", body=body)
    assert_problem(await reset(spent, idempotency_key="k"), 409, "request_id_conflict")


async def test_without_budget_or_reason_it_is_malformed(spent):
    for missing in ("budget", "reason"):
        reply = await reset(spent, **{missing: None})
        assert_problem(reply, 400, "malformed")
        assert [e["path"] for e in reply["errors"]] == [missing]
    assert_problem(await reset(spent, amount=5), 400, "malformed")


async def test_what_is_not_there_is_a_404(spent):
    assert_problem(await reset(spent, "nobody"), 404, "account_unknown")
    assert_problem(await reset(spent, budget="other"), 404, "budget_unknown")
