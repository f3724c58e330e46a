"""``settle_many``: each item in order as if alone."""

import asyncpg
import pytest

from tests.support.checks import assert_problem, assert_same
from tests.support.money import tokens
from tests.support.session import Figures


@pytest.fixture
async def held(ledger, clock):
    await ledger.grant("ann")
    for n in range(4):
        await ledger.reserve(f"r{n}", "ann", tokens(200))
    return ledger


def item(request_id, used, **more):
    return {"request_id": request_id, "amounts": tokens(used), **more}


async def test_items_settle_in_order_and_a_refusal_leaves_the_others(held):
    rows = await held.many("settle", [item("r1", 10), item("r9", 1), item("r2", -1), item("r0", 5)])
    assert [row.status for row in rows] == [200, 404, 400, 200]
    assert [row.body.get("request_id") for row in (rows[0], rows[3])] == ["r1", "r0"]
    assert await held.figures("ann") == Figures(15, 400, 585)


async def test_one_that_is_not_there_leaves_each_of_the_others_its_own(held):
    """Though its account is told, so that nobody has looked for it before."""
    used = {"r1": 10, "r9": 1, "r0": 5}
    rows = await held.many("settle", [item(r, n, account_id="ann") for r, n in used.items()])
    assert [row.status for row in rows] == [200, 404, 200]
    assert [row.body["request_id"] for row in rows] == list(used)
    assert [rows[k].body["amounts"]["tokens"] for k in (0, 2)] == [10, 5]
    assert await held.figures("ann") == Figures(15, 400, 585)


async def test_the_figures_of_each_line_are_those_just_after_its_item(held):
    rows = await held.many("settle", [item("r0", 10), item("r1", 20), item("r2", 30)])
    assert [row.body["lines"][0]["settled"] for row in rows] == [10, 30, 60]
    assert [row.body["lines"][0]["reserved"] for row in rows] == [600, 400, 200]


async def test_the_same_item_twice_settles_once(held):
    rows = await held.many("settle", [item("r0", 10), item("r0", 10)])
    assert_same(rows[0].body, rows[1].body)
    assert (await held.window("ann"))["settled"] == 10


async def test_an_id_twice_with_other_usage_is_a_conflict(held):
    rows = await held.many("settle", [item("r0", 10), item("r0", 11)])
    assert_problem(rows[1].body, 409, "settlement_conflict")
    assert (await held.window("ann"))["settled"] == 10


async def test_an_item_outside_the_callers_subtree_is_forbidden(held):
    await held.grant("bob")
    await held.reserve("b1", "bob", tokens(5))
    rows = await held.many(
        "settle",
        [item("b1", 1, account_id="bob"), item("r0", 1, account_id="ann")],
        within=["ann", "ann"],
    )
    assert rows[0].status in {403, 404}
    assert rows[1].status == 200
    assert await held.figures("bob") == Figures(0, 5, 995)


async def test_512_settlements_at_once(ledger, clock):
    await ledger.grant("ann", 512)
    await ledger.many(
        "reserve",
        [{"request_id": f"r{n}", "account_id": "ann", "amounts": tokens(1)} for n in range(512)],
    )
    rows = await ledger.many("settle", [item(f"r{n}", 1) for n in range(512)])
    assert {row.status for row in rows} == {200}
    assert await ledger.figures("ann") == Figures(512, 0, 0)


@pytest.mark.parametrize(
    "call", ["settle", "release", "extend", "cancel", "charge", "resolve", "reserve"]
)
async def test_513_items_are_misuse_for_every_call(ledger, clock, call):
    with pytest.raises(asyncpg.PostgresError) as caught:
        await ledger.many(call, [{"request_id": f"r{n}"} for n in range(513)])
    assert caught.value.sqlstate == "PA001"


@pytest.mark.parametrize(
    "call", ["settle", "release", "extend", "cancel", "charge", "resolve", "reserve"]
)
async def test_an_empty_batch_has_no_rows_or_is_misuse(ledger, clock, call):
    assert await outcome_of_empty_batch(ledger, call) in ([], "PA001")


async def outcome_of_empty_batch(ledger, call):
    try:
        return await ledger.many(call, [])
    except asyncpg.PostgresError as error:
        return error.sqlstate
