"""The big model, else the small one, else 400 tokens of it."""

import pytest

from tests.support.checks import assert_denied, assert_problem
from tests.support.money import DOLLAR, usd
from tests.support.prices import ask, publish, rates

BOUNDS = {"input_tokens": 1000, "output_tokens": 500}
CEILING = 3_000_000 + 7_500_000
"""1000 at $3 and 500 at $15 a million, in nano-USD."""


@pytest.fixture
async def models(ledger):
    await publish(ledger, "big", rates=rates(input_tokens="30", output_tokens="150"))
    await publish(ledger, "small", rates=rates(input_tokens="3", output_tokens="15"))


ALTERNATIVES = (
    {"model": "small"},
    {"model": "small", "max_usage": {"input_tokens": 1000, "output_tokens": 400}},
)


@pytest.mark.parametrize(
    ("limit", "chosen", "model", "held"),
    [
        (105_000_000, None, "big", 105_000_000),
        (104_999_999, 0, "small", 10_500_000),
        (10_499_999, 1, "small", 9_000_000),
    ],
)
async def test_the_first_that_fits_is_authorized_by_its_own_price(
    ledger, clock, models, limit, chosen, model, held
):
    await ledger.grant("ann", limit, unit="usd_nano")
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="big", alternatives=list(ALTERNATIVES))
    assert (reply["chosen_alternative"], reply["model"]) == (chosen, model)
    assert (await ledger.window("ann"))["reserved"] == held
    kept = await ledger.reservation("r1")
    assert kept["price_table_id"] == reply["price_table_id"] is not None
    assert kept["amounts"]["usd_nano"] == held


async def test_denied_only_if_none_fits_with_what_the_request_itself_lacked(ledger, clock, models):
    await ledger.grant("ann", 8_999_999, unit="usd_nano")
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="big", alternatives=list(ALTERNATIVES))
    assert_denied(reply, "exceeds_limit", required=105_000_000, affordable=None)


async def test_an_option_that_cannot_be_priced_is_refused_when_its_turn_comes_not_passed_over(
    ledger, clock, models
):
    await ledger.grant("ann", 10_500_000, unit="usd_nano")
    small = {"model": "small", "max_usage": BOUNDS}
    for model, alternatives in (("big", [{"model": "other"}, small]), ("other", [small])):
        reply = await ask(ledger, "r1", "ann", BOUNDS, model=model, alternatives=alternatives)
        assert_problem(reply, 422, "price_missing")
        assert reply["model"] == "other"
    assert (await ledger.count("reservation"), (await ledger.window("ann"))["reserved"]) == (0, 0)
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="big", alternatives=[small, {"model": "other"}])  # fmt: skip
    assert reply["chosen_alternative"] == 0


async def test_amounts_can_be_the_alternative_of_max_usage_and_the_other_way_round(
    ledger, clock, models
):
    await ledger.grant("ann", 10_500_000, unit="usd_nano")
    first = await ask(ledger, "r1", "ann", BOUNDS, model="big", alternatives=[{"amounts": usd(7)}])  # fmt: skip
    assert (first["chosen_alternative"], first["price_table_id"]) == (0, None)
    await ledger.release("r1")
    second = await ledger.reserve(
        "r2", "ann", usd(DOLLAR), model="big",
        alternatives=[{"model": "small", "max_usage": BOUNDS}],
    )  # fmt: skip
    assert second["chosen_alternative"] == 0
    assert second["lines"][0]["amount"] == CEILING
