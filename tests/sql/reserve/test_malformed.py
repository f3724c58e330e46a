"""Malformed input: a 400 that names the field, and nothing is written."""

import pytest

from tests.support.checks import assert_problem
from tests.support.malformed import BAD_AMOUNTS, BAD_IDS, BAD_LABELS, BAD_TTLS, broken
from tests.support.money import tokens

GOOD = {"request_id": "r1", "account_id": "ann", "amounts": {"tokens": 1}}

ALTERNATIVES = {
    "no list": {"amounts": tokens(1)},
    "a list of numbers": [1],
    "an unknown member": [{"amounts": tokens(1), "price": 1}],
    "no amounts": [{"model": "m"}],
    "a negative amount": [{"amounts": tokens(-1)}],
    "an amount as text": [{"amounts": {"tokens": "1"}}],
    "a model with a space": [{"model": "a b", "amounts": tokens(1)}],
}

CASES = {
    **broken("request_id", BAD_IDS),
    **broken("account_id", BAD_IDS),
    **broken("amounts", {**BAD_AMOUNTS, "null": None}),
    **broken("ttl_seconds", BAD_TTLS),
    **broken("labels", BAD_LABELS),
    **broken("alternatives", ALTERNATIVES),
    **broken("model", {k: v for k, v in BAD_IDS.items() if v is not None}),
    **broken("session_id", {k: v for k, v in BAD_IDS.items() if v is not None}),
    **broken("dry_run", {"text": "true", "a number": 1}),
    **broken("max_tokens", {"an unknown member": 7}),
    **broken("usage", {"a member of another call": {"output_tokens": 7}}),
}


@pytest.mark.parametrize("seen_before", [False, True])
async def test_every_malformed_member_is_a_400_that_names_it_and_writes_nothing(
    ledger, clock, seen_before
):
    await ledger.grant("ann")
    if seen_before:
        await ledger.reserve("r0", "ann", tokens(1))
    before = await ledger.contents()
    wrong = []
    for why, (member, value) in CASES.items():
        row = await ledger.one("reserve", **{**GOOD, member: value})
        named = [e["path"] for e in row.body.get("errors", [])]
        if row.status != 400 or not any(member in path for path in named):
            wrong.append((why, row.status, row.body))
    assert wrong == []
    assert await ledger.contents() == before


@pytest.mark.parametrize("member", GOOD)
async def test_a_required_member_that_is_missing_is_named(ledger, clock, member):
    rest = {k: v for k, v in GOOD.items() if k != member}
    row = await ledger.one("reserve", **rest)
    assert_problem(row.body, 400, "malformed")
    assert [e["path"] for e in row.body["errors"]] == [member]
    assert all(e["message"] for e in row.body["errors"])


@pytest.mark.parametrize("item", [None, 7, "text", [], True], ids=repr)
async def test_an_item_that_is_no_object_is_malformed_and_its_neighbours_are_decided(
    ledger, clock, item
):
    await ledger.grant("ann")
    rows = await ledger.many("reserve", [GOOD, item, {**GOOD, "request_id": "r2"}])
    assert [row.status for row in rows] == [200, 400, 200]
    assert_problem(rows[1].body, 400, "malformed")


async def test_all_faults_of_one_request_are_named_at_once(ledger, clock):
    row = await ledger.one("reserve", request_id="a b", account_id="ann", amounts={}, ttl_seconds=0)
    paths = {e["path"] for e in row.body["errors"]}
    assert {"request_id", "amounts", "ttl_seconds"} <= paths


async def test_the_path_of_a_fault_leads_into_the_amounts(ledger, clock):
    row = await ledger.one("reserve", **{**GOOD, "amounts": {"tokens": "7"}})
    (error,) = row.body["errors"]
    assert error["path"].startswith("amounts")
    assert "tokens" in error["path"]


async def test_the_single_function_refuses_as_the_batch_does(ledger, clock):
    await ledger.grant("ann")
    before = await ledger.contents()
    assert_problem(await ledger.reserve("a b", "ann", tokens(1)), 400, "malformed")
    assert_problem(await ledger.reserve("r1", "ann", tokens(-1)), 400, "malformed")
    assert_problem(await ledger.reserve("r1", "ann", tokens(1), ttl_seconds=0), 400, "malformed")
    assert await ledger.contents() == before


async def test_sixteen_units_and_sixteen_labels_are_taken(ledger, clock):
    await ledger.grant("ann")
    units = {f"unit_{n}": 1 for n in range(15)} | tokens(1)
    labels = {f"l{n}": "v" * 128 for n in range(16)}
    reply = await ledger.reserve("r1", "ann", units, labels=labels)
    assert reply["decision"] == "authorized"
