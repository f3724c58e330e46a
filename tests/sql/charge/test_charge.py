"""The cost is known: checked and spent in one step, or nothing is charged."""

import pytest

from tests.support.checks import assert_denied, assert_problem, assert_same
from tests.support.malformed import BAD_AMOUNTS, BAD_IDS, BAD_LABELS, broken
from tests.support.money import MONTH, budget, tokens
from tests.support.session import Figures


async def test_what_fits_is_spent_at_once(ledger, clock):
    await ledger.grant("ann", window=MONTH)
    reply = await ledger.charge("c1", "ann", tokens(400))
    assert (reply["decision"], reply["state"]) == ("authorized", "settled")
    assert reply["expires_at"] is None
    assert (reply["recorded"], reply["replayed"]) == (False, False)
    assert reply["lines"] == [
        {"budget": "cap", "scope": "ann", "unit": "tokens", "window": "2026-09", "amount": 400, "available": 600}
    ]  # fmt: skip
    assert await ledger.figures("ann") == Figures(400, 0, 600)


async def test_what_does_not_fit_charges_nothing_anywhere(ledger, clock):
    await ledger.grant("org", 100)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 1000)
    await ledger.charge("c0", "ann", tokens(60))
    assert_denied(await ledger.charge("c1", "ann", tokens(41)), "budget_exhausted", scope="org")
    assert await ledger.figures("ann") == Figures(60, 0, 940)
    assert await ledger.figures("org") == Figures(60, 0, 40)


async def test_open_holds_count_against_a_charge(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(700))
    assert_denied(await ledger.charge("c1", "ann", tokens(301)), "budget_exhausted", available=300)


async def test_the_same_charge_again_is_the_first_result(ledger, clock):
    await ledger.grant("ann")
    first = await ledger.charge("c1", "ann", tokens(400))
    assert_same(first, await ledger.charge("c1", "ann", tokens(400)))
    assert await ledger.figures("ann") == Figures(400, 0, 600)


async def test_another_amount_under_the_same_id_is_a_conflict(ledger, clock):
    await ledger.grant("ann")
    await ledger.charge("c1", "ann", tokens(400))
    moved = await ledger.movements()
    assert_problem(await ledger.charge("c1", "ann", tokens(401)), 409, "request_id_conflict")
    assert_problem(await ledger.reserve("c1", "ann", tokens(400)), 409, "request_id_conflict")
    assert await ledger.movements() == moved


async def test_a_denied_charge_stays_denied(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(1000))
    first = await ledger.charge("c1", "ann", tokens(10))
    await ledger.release("r1")
    assert_same(first, await ledger.charge("c1", "ann", tokens(10)))


async def test_a_recorded_charge_is_never_refused_and_is_flagged(ledger, clock):
    await ledger.grant("ann")
    await ledger.charge("c0", "ann", tokens(900))
    reply = await ledger.charge("c1", "ann", tokens(5000), record=True)
    assert (reply["decision"], reply["recorded"]) == ("authorized", True)
    assert await ledger.figures("ann") == Figures(5900, 0, -4900)
    assert await ledger.count("usage_event", "kind = 'recorded_exception'") == 1


async def test_a_recorded_charge_is_spent_once(ledger, clock):
    await ledger.grant("ann")
    first = await ledger.charge("c1", "ann", tokens(5000), record=True)
    assert_same(first, await ledger.charge("c1", "ann", tokens(5000), record=True))
    assert await ledger.figures("ann") == Figures(5000, 0, -4000)


async def test_a_suspended_accounts_past_spend_can_be_recorded(ledger, clock):
    await ledger.grant("ann")
    await ledger.put_account("ann", status="suspended")
    assert_denied(await ledger.charge("c1", "ann", tokens(1)), "account_suspended")
    reply = await ledger.charge("c2", "ann", tokens(1), record=True)
    assert reply["decision"] == "authorized"


async def test_recording_and_not_recording_are_different_requests(ledger, clock):
    await ledger.grant("ann")
    await ledger.charge("c1", "ann", tokens(5))
    reply = await ledger.charge("c1", "ann", tokens(5), record=True)
    assert_problem(reply, 409, "request_id_conflict")


async def test_a_charge_counts_as_a_request(ledger, clock):
    await ledger.grant("ann", 1, "rate", unit="requests")
    await ledger.charge("c1", "ann", tokens(5))
    assert_denied(await ledger.charge("c2", "ann", tokens(5)), "budget_exhausted", budget="rate")


async def test_a_charge_holds_on_the_models_budget(ledger, clock):
    await ledger.put_plan("free", budget("opus", 10, model="opus"), budget("all", 100))
    await ledger.put_account("ann", plan_id="free")
    assert (await ledger.charge("c1", "ann", tokens(50)))["decision"] == "authorized"
    assert_denied(await ledger.charge("c2", "ann", tokens(11), model="opus"), "exceeds_limit")


async def test_items_of_a_batch_compete_in_order(ledger, clock):
    await ledger.grant("ann")
    item = {"account_id": "ann", "amounts": tokens(600)}
    rows = await ledger.many(
        "charge",
        [
            {**item, "request_id": "c1"},
            {**item, "request_id": "c2"},
            {**item, "request_id": "c1"},
            {**item, "request_id": "c3", "record": True},
        ],
    )
    assert [row.body["decision"] == "authorized" for row in rows] == [True, False, True, True]
    assert [row.body["replayed"] for row in rows] == [False, False, True, False]
    assert await ledger.figures("ann") == Figures(1200, 0, -200)


@pytest.mark.parametrize("call", ["settle", "release"])
async def test_a_charge_is_settled_already(ledger, clock, call):
    await ledger.grant("ann")
    await ledger.charge("c1", "ann", tokens(400))
    moved = await ledger.movements()
    if call == "release":
        assert_problem(await ledger.release("c1"), 409, "already_settled")
    else:
        for amount in (399, 400):
            assert_problem(await ledger.settle("c1", tokens(amount)), 409, "already_settled")
    assert await ledger.movements() == moved


async def test_malformed_charges_name_the_field_and_write_nothing(ledger, clock):
    await ledger.grant("ann")
    good = {"request_id": "c1", "account_id": "ann", "amounts": tokens(1)}
    cases = {
        **broken("request_id", BAD_IDS),
        **broken("account_id", BAD_IDS),
        **broken("amounts", {**BAD_AMOUNTS, "null": None}),
        **broken("labels", BAD_LABELS),
        **broken("record", {"text": "true", "a number": 1}),
        **broken("ttl_seconds", {"a member of another call": 5}),
        **broken("alternatives", {"a member of another call": []}),
    }
    before, wrong = await ledger.contents(), []
    for why, (member, value) in cases.items():
        row = await ledger.one("charge", **{**good, member: value})
        if row.status != 400 or member not in str(row.body.get("errors")):
            wrong.append((why, row.status, row.body))
    assert wrong == []
    assert await ledger.contents() == before
