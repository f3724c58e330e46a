"""A charge tells what was used, and the price table says what that costs."""

import pytest

from tests.support.checks import assert_denied, assert_problem, assert_same
from tests.support.money import DOLLAR, usd
from tests.support.prices import CHAT, MODEL, publish, rates, spend, tier
from tests.support.session import Figures

USAGE = {"input_tokens": 1, "cached_input_tokens": 7, "output_tokens": 500}
SHARES = {"input_tokens": 3000, "cached_input_tokens": 2100, "output_tokens": 7_500_000}
COST = sum(SHARES.values())


@pytest.fixture
async def rich(ledger):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    return await publish(ledger)


async def test_the_cost_of_the_usage_is_spent_and_told_by_dimension(ledger, clock, rich):
    reply = await spend(ledger, "c1", "ann", USAGE)
    assert (reply["state"], reply["price_table_id"]) == ("settled", rich["price_table_id"])
    assert reply["cost"] == {"usd_nano": SHARES}
    assert await ledger.figures("ann") == Figures(COST, 0, DOLLAR - COST)
    event = await ledger.connection.fetchrow("select * from preauth.usage_event")
    assert event["amounts"] == {"usd_nano": COST, "tokens": 508}
    assert (event["usage"], event["cost"]) == (USAGE, {"usd_nano": SHARES})
    assert event["price_table_ids"] == [rich["price_table_id"]]


async def test_the_same_again_is_the_first_result(ledger, clock, rich):
    first = await spend(ledger, "c1", "ann", USAGE)
    clock.advance(seconds=1)
    await publish(ledger, rates=rates(input_tokens="9", output_tokens="9"))
    assert_same(first, await spend(ledger, "c1", "ann", USAGE))
    assert_problem(await spend(ledger, "c1", "ann", {**USAGE, "output_tokens": 501}), 409, "request_id_conflict")  # fmt: skip


async def test_usage_is_priced_in_its_own_tier_and_bounds_in_the_dearest_below(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger, tiers=[tier(0, rates(input_tokens="3")), tier(10, rates(input_tokens="1"))])  # fmt: skip
    used = await spend(ledger, "c1", "ann", {"input_tokens": 11})
    bounded = await spend(ledger, "c2", "ann", max_usage={"input_tokens": 11})
    assert used["cost"] == {"usd_nano": {"input_tokens": 11_000}}
    assert bounded["cost"] == {"usd_nano": {"input_tokens": 33_000}}


async def test_no_bound_is_required_of_a_usage(ledger, clock, rich):
    reply = await spend(ledger, "c1", "ann", {"cached_input_tokens": 10})
    assert reply["lines"][0]["amount"] == 3000


async def test_what_does_not_fit_is_denied_with_the_output_that_would(ledger, clock, rich):
    reply = await spend(ledger, "c1", "ann", {"input_tokens": 0, "output_tokens": 70_000})
    assert_denied(reply, "exceeds_limit", affordable={"output_tokens": 66_666})


async def test_shares_are_whole_numbers_that_add_up(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    third = {"micro_usd": 1, "per": 3000}
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens")
    await publish(ledger, rates=dict.fromkeys(names, third))
    reply = await spend(ledger, "c1", "ann", dict.fromkeys(names, 1))
    assert reply["lines"][0]["amount"] == 2  # four thirds, rounded up once
    assert sum(reply["cost"]["usd_nano"].values()) == 2


REFUSED = {
    "no price": ({"model": "other"}, "price_missing"),
    "a dimension without rate": ({"usage": {**USAGE, "web_searches": 1}}, "dimension_unpriced"),
    "more than an amount can be": ({"usage": {"output_tokens": 2**53 - 1}}, "amount_out_of_range"),
}


@pytest.mark.parametrize(("change", "code"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_cannot_be_worked_out_is_refused_and_nothing_is_charged(
    ledger, clock, rich, change, code
):
    before = await ledger.contents()
    assert_problem(await spend(ledger, "c1", "ann", **{"usage": USAGE, **change}), 422, code)
    assert await ledger.contents() == before


async def test_spend_that_happened_already_is_recorded_even_without_a_price(ledger, clock, rich):
    await ledger.grant("ann", 100, "tokens")
    reply = await spend(ledger, "c1", "ann", USAGE, model="other", record=True)
    assert (reply["recorded"], reply["price_table_id"]) == (True, None)
    assert {line["unit"]: line["amount"] for line in reply["lines"]} == {"tokens": 508}
    event = await ledger.connection.fetchrow("select * from preauth.usage_event")
    assert (event["kind"], event["usage"], event["cost"]) == ("recorded_exception", USAGE, None)


async def test_what_the_charge_tells_itself_stands(ledger, clock, rich):
    reply = await spend(ledger, "c1", "ann", USAGE, amounts=usd(5))
    assert reply["lines"][0]["amount"] == 5
    assert "cost" not in reply


MALFORMED = {
    "a stand-in for any kind": ({"usage": {"prompt_tokens": 5}}, "usage.prompt_tokens"),
    "a fraction": ({"usage": {"input_tokens": 5.5}}, "usage.input_tokens"),
    "nothing": ({"usage": {}}, "usage"),
    "both": ({"usage": USAGE, "max_usage": USAGE}, "usage"),
    "neither": ({}, "amounts"),
}


@pytest.mark.parametrize(("body", "path"), MALFORMED.values(), ids=MALFORMED.keys())
async def test_malformed_usage_is_named(ledger, clock, rich, body, path):
    item = {"request_id": "c1", "account_id": "ann", "model": MODEL}
    row = await ledger.one("charge", **item, **body)
    assert_problem(row.body, 400, "malformed")
    assert [error["path"] for error in row.body["errors"]] == [path]


async def test_a_reserve_tells_bounds_not_usage(ledger, clock, rich):
    row = await ledger.one("reserve", request_id="r1", account_id="ann", model=MODEL, usage=CHAT)
    assert_problem(row.body, 400, "malformed")
