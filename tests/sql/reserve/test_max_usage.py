"""The ceiling: what max_usage can cost at most, held before anything starts."""

import pytest

from tests.support.checks import assert_problem, assert_same
from tests.support.money import DOLLAR, tokens, usd
from tests.support.prices import CHAT, MODEL, ask, publish, rate, rates, spend, tier
from tests.support.session import Figures

BOUNDS = {"input_tokens": 1000, "output_tokens": 500}
CEILING = 3_000_000 + 7_500_000
"""1000 at $3 and 500 at $15 a million, in nano-USD."""


async def test_it_holds_the_ceiling_and_names_the_price_table(ledger, clock, rich):
    reply = await ask(ledger, "r1", "ann", BOUNDS)
    assert reply["price_table_id"] == rich["price_table_id"]
    assert [line["amount"] for line in reply["lines"]] == [CEILING]
    assert await ledger.figures("ann") == Figures(0, CEILING, DOLLAR - CEILING)
    kept = await ledger.reservation("r1")
    assert kept["price_table_id"] == rich["price_table_id"]
    assert kept["amounts"] == {"usd_nano": CEILING, "tokens": 1500}
    assert kept["max_usage"] == BOUNDS


async def test_the_same_again_is_replayed_even_when_another_price_is_in_effect(ledger, clock, rich):
    first = await ask(ledger, "r1", "ann", BOUNDS)
    clock.advance(seconds=1)
    await publish(ledger, rates=rates(input_tokens="6", output_tokens="30"))
    assert_same(first, await ask(ledger, "r1", "ann", BOUNDS))
    other = await ask(ledger, "r1", "ann", {**BOUNDS, "output_tokens": 501})
    assert_problem(other, 409, "request_id_conflict")


async def test_a_budget_of_tokens_counts_their_sum_and_one_of_requests_one(ledger, clock, rich):
    await ledger.grant("ann", 5000, "tokens")
    await ledger.grant("ann", 10, "requests", unit="requests")
    reply = await ask(ledger, "r1", "ann", {**BOUNDS, "cached_input_tokens": 7})
    held = {line["unit"]: line["amount"] for line in reply["lines"]}
    assert held == {"usd_nano": CEILING + 2100, "tokens": 1507, "requests": 1}


async def test_what_is_no_token_is_not_counted_as_one(ledger, clock):
    await ledger.grant("ann")
    reply = await ask(ledger, "r1", "ann", {"output_tokens": 5, "web_searches": 900, "images": 7})
    assert [line["amount"] for line in reply["lines"]] == [5]


async def test_there_is_one_ceiling_over_the_sum_and_none_before(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    third = {"micro_usd": 1, "per": 3000}  # a third of a nano-dollar
    table = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens"), third)
    await publish(ledger, rates=table)
    for number, (bounds, cost) in enumerate(
        [((1, 1, 1), 1), ((1, 1, 2), 2), ((1, 0, 0), 1), ((0, 0, 0), 0), ((4, 4, 4), 4)]
    ):
        reply = await ask(ledger, f"r{number}", "ann", dict(zip(table, bounds, strict=True)))
        assert reply["lines"][0]["amount"] == cost, bounds


async def test_prompt_tokens_are_priced_as_the_dearest_input(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    table = {**CHAT, "cache_write_1h_tokens": rate("6"), "input_audio_tokens": rate("4")}
    await publish(ledger, rates=table)
    reply = await ask(ledger, "r1", "ann", {"prompt_tokens": 1000, "output_tokens": 0})
    assert reply["lines"][0]["amount"] == 6_000_000


async def test_completion_tokens_are_priced_as_the_dearer_of_output_and_reasoning(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger, rates={**CHAT, "reasoning_tokens": rate("20"), "output_audio_tokens": rate("80")})  # fmt: skip
    reply = await ask(ledger, "r1", "ann", {"input_tokens": 0, "completion_tokens": 1000})
    assert reply["lines"][0]["amount"] == 20_000_000


@pytest.mark.parametrize(
    ("bounds", "cost"),
    [
        ({"input_tokens": 200_000, "output_tokens": 1000}, 600_000_000 + 15_000_000),
        ({"input_tokens": 200_001, "output_tokens": 1000}, 1_200_006_000 + 22_500_000),
        ({"prompt_tokens": 200_001, "completion_tokens": 1000}, 1_200_006_000 + 22_500_000),
        ({"input_tokens": 199_001, "cached_input_tokens": 1000, "output_tokens": 0}, 199_001 * 6000 + 600_000),
    ],
)  # fmt: skip
async def test_the_tier_of_the_bound_applies_to_every_token(ledger, clock, bounds, cost):
    await ledger.grant("ann", 5 * DOLLAR, unit="usd_nano")
    dear = rates(input_tokens="6", cached_input_tokens="0.60", output_tokens="22.50")
    await publish(ledger, tiers=[tier(0, CHAT), tier(200_000, dear)])
    reply = await ask(ledger, "r1", "ann", bounds)
    assert reply["lines"][0]["amount"] == cost


async def test_where_a_higher_tier_is_cheaper_the_ceiling_covers_the_lower_one_too(ledger, clock):
    await ledger.grant("ann", 5 * DOLLAR, unit="usd_nano")
    await publish(
        ledger, tiers=[tier(0, rates(input_tokens="3")), tier(1000, rates(input_tokens="1"))]
    )
    reply = await ask(ledger, "r1", "ann", {"input_tokens": 1001})
    assert reply["lines"][0]["amount"] >= 1000 * 3000


async def test_an_alias_is_priced_by_what_it_stands_for_and_follows_it(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    first = await publish(ledger, aliases=["chat"])
    clock.advance(seconds=1)
    second = await publish(ledger, rates=rates(input_tokens="6", output_tokens="30"))
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="chat")
    assert (reply["price_table_id"], reply["model"]) == (second["price_table_id"], "chat")
    assert second["price_table_id"] != first["price_table_id"]
    assert reply["lines"][0]["amount"] == 2 * CEILING


async def test_a_variant_is_asked_for_by_name_and_nothing_falls_back(ledger, clock, rich):
    await publish(ledger, variant="batch", rates=rates(input_tokens="1.50", output_tokens="7.50"))
    batch = await ask(ledger, "r1", "ann", BOUNDS, model=f"{MODEL}:batch")
    assert batch["lines"][0]["amount"] == CEILING / 2
    flex = await ask(ledger, "r2", "ann", BOUNDS, model=f"{MODEL}:flex")
    assert_problem(flex, 422, "price_missing")


async def test_a_price_in_another_unit_is_held_in_that_unit(ledger, clock, rich):
    await ledger.grant("ann", 100, "credits", unit="credits")
    credit = {"amount": 1, "per": 1000}
    await publish(ledger, unit="credits", rates={"input_tokens": credit, "output_tokens": credit})
    reply = await ask(ledger, "r1", "ann", BOUNDS)
    assert {line["unit"]: line["amount"] for line in reply["lines"]} == {
        "usd_nano": CEILING,
        "credits": 2,
    }
    assert reply["price_table_id"] == rich["price_table_id"]
    assert len((await ledger.reservation("r1"))["price_table_ids"]) == 2


async def test_a_request_that_has_a_price_is_counted_once_unless_it_is_said(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger, rates={**CHAT, "requests": rate("5", 1000)})
    one = await ask(ledger, "r1", "ann", BOUNDS)
    three = await ask(ledger, "r2", "ann", {**BOUNDS, "requests": 3})
    assert [r["lines"][0]["amount"] - CEILING for r in (one, three)] == [5_000_000, 15_000_000]


async def test_no_bound_of_requests_is_below_the_one_that_a_call_is(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger, rates={**CHAT, "requests": rate("5", 1000)})
    bounds = {**BOUNDS, "requests": 0}
    reply = await ask(ledger, "r1", "ann", bounds)
    assert reply["lines"][0]["amount"] == CEILING + 5_000_000
    settled = await ledger.settle("r1", usage={**BOUNDS, "requests": 1})
    assert (settled["amounts"]["usd_nano"], settled["overage"]) == (CEILING + 5_000_000, {})
    charged = await spend(ledger, "c1", "ann", max_usage=bounds)
    assert charged["cost"]["usd_nano"]["requests"] == 5_000_000


async def test_what_the_request_tells_itself_stands(ledger, clock, rich):
    await ledger.grant("ann", 9, "credits", unit="credits")
    await ledger.grant("ann", 9, "requests", unit="requests")
    told = {"credits": 2, "requests": 3, "usd_nano": 5}
    reply = await ask(ledger, "r1", "ann", BOUNDS, amounts=told)
    assert {line["unit"]: line["amount"] for line in reply["lines"]} == told


async def test_in_a_batch_of_models_one_may_be_priced_in_two_units(ledger, clock, rich):
    await ledger.grant("ann", 100, "credits", unit="credits")
    credit = {"amount": 1, "per": 1000}
    await publish(ledger, unit="credits", rates={"input_tokens": credit, "output_tokens": credit})
    await ledger.grant("bob", DOLLAR, unit="usd_nano")
    await publish(ledger, "acme/other")
    other, chat = await ledger.many(
        "reserve",
        [
            {"request_id": "r1", "account_id": "bob", "model": "acme/other", "max_usage": BOUNDS},
            {"request_id": "r2", "account_id": "ann", "model": MODEL, "max_usage": BOUNDS},
        ],
    )
    assert [line["unit"] for line in other.body["lines"]] == ["usd_nano"]
    assert {line["unit"]: line["amount"] for line in chat.body["lines"]} == {
        "usd_nano": CEILING,
        "credits": 2,
    }


async def test_an_explicit_price_of_nothing_is_authorized_with_nothing_available(ledger, clock):
    await ledger.grant("ann", 0, unit="usd_nano")
    await publish(ledger, rates=rates(input_tokens="0", output_tokens="0"))
    reply = await ask(ledger, "r1", "ann", {"input_tokens": 10})
    assert (reply["decision"], reply["lines"][0]["amount"]) == ("authorized", 0)


REFUSED = {
    "no price": ({"model": "other"}, "price_missing", {"model": "other"}),
    "no model": ({"model": None}, "price_missing", {"model": None}),
    "no bound of the output": ({"max_usage": {"input_tokens": 5}}, "dimension_unbounded", {"dimension": "output_tokens"}),
    "no bound of the input": ({"max_usage": {"output_tokens": 5}}, "dimension_unbounded", {"dimension": "input_tokens"}),
    "a dimension without rate": ({"max_usage": {**BOUNDS, "web_searches": 1}}, "dimension_unpriced", {"dimension": "web_searches"}),
    "a dimension that nobody knows": ({"max_usage": {**BOUNDS, "thoughts": 1}}, "dimension_unpriced", {"dimension": "thoughts"}),
    "more than an amount can be": ({"max_usage": {**BOUNDS, "output_tokens": 2**53 - 1}}, "amount_out_of_range", {"unit": "usd_nano"}),
}  # fmt: skip


@pytest.mark.parametrize(("change", "code", "members"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("enforcement", ["hard", "soft", "observe"])
async def test_what_cannot_be_worked_out_is_refused_and_nothing_is_held(
    ledger, clock, change, code, members, enforcement
):
    await ledger.grant("ann", DOLLAR, unit="usd_nano", enforcement=enforcement)
    await publish(ledger)
    before = await ledger.contents()
    reply = await ask(ledger, "r1", "ann", **{"max_usage": BOUNDS, **change})
    assert_problem(reply, 422, code)
    assert {name: reply[name] for name in members} == members
    assert await ledger.contents() == before


async def test_none_of_a_dimension_without_a_rate_costs_nothing(ledger, clock, rich):
    reply = await ask(ledger, "r1", "ann", {**BOUNDS, "web_searches": 0, "reasoning_tokens": 0})
    assert reply["lines"][0]["amount"] == CEILING


async def test_a_refused_request_leaves_its_neighbours_alone(ledger, clock, rich):
    item = {"account_id": "ann", "model": MODEL}
    rows = await ledger.many(
        "reserve",
        [
            {**item, "request_id": "r1", "max_usage": BOUNDS},
            {**item, "request_id": "r2", "max_usage": {"input_tokens": 1}},
            {**item, "request_id": "r3", "amounts": usd(5)},
            {**item, "request_id": "r4", "max_usage": BOUNDS, "model": "other"},
            {**item, "request_id": "r5", "max_usage": BOUNDS},
        ],
    )
    assert [row.status for row in rows] == [200, 422, 200, 422, 200]
    assert (await ledger.window("ann"))["reserved"] == 2 * CEILING + 5


async def test_priced_and_told_items_of_a_batch_keep_their_places(ledger, clock, rich):
    await publish(ledger, "other", rates=rates(input_tokens="1"))
    told = {"account_id": "ann", "model": MODEL, "amounts": usd(7)}
    priced = {"account_id": "ann", "model": MODEL, "max_usage": BOUNDS}
    other = {"account_id": "ann", "model": "other", "max_usage": {"prompt_tokens": 5}}
    both = {**priced, "amounts": usd(9)}
    items = [told, told, priced, other, told, both, priced, other, told]
    rows = await ledger.many(
        "reserve", [{**item, "request_id": f"r{n}"} for n, item in enumerate(items)]
    )
    held = [row.body["lines"][0]["amount"] for row in rows]
    assert held == [7, 7, CEILING, 5000, 7, 9, CEILING, 5000, 7]
    kept = await ledger.connection.fetch(
        "select request_id, price_table_ids is not null as priced from preauth.reservation order by 1"
    )
    assert [row["priced"] for row in kept] == [
        "amounts" not in i or "max_usage" in i for i in items
    ]


async def test_an_option_without_a_model_takes_the_price_from_nobody(ledger, clock, rich):
    """Its own alternatives are priced, and so are its neighbours in the batch."""
    told = {"request_id": "told", "account_id": "ann", "amounts": usd(2**52)}
    priced = {"model": MODEL, "max_usage": BOUNDS}
    items = [
        {**told, "alternatives": [priced, {"amounts": usd(1)}]},
        {"request_id": "neighbour", "account_id": "ann", **priced},
    ]
    first, second = await ledger.many("reserve", items)
    assert (first.status, second.status) == (200, 200), (first, second)
    assert first.body["chosen_alternative"] == 0


async def test_where_no_budget_counts_money_no_price_is_needed(ledger, clock):
    await ledger.grant("ann", 2000)
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="nobody/knows-it")
    assert (reply["lines"][0]["amount"], reply["price_table_id"]) == (1500, None)


async def test_where_a_bound_is_missing_tokens_are_not_bounded_either(ledger, clock):
    await ledger.grant("ann", 2000)
    await publish(ledger)
    reply = await ask(ledger, "r1", "ann", {"input_tokens": 5})
    assert_problem(reply, 422, "dimension_unbounded")


MALFORMED = {
    "no object": 7,
    "empty": {},
    "a list": ["output_tokens"],
    "text": {"output_tokens": "7"},
    "text beside a count": {"input_tokens": 7, "output_tokens": "7"},
    "a list of a count": {"output_tokens": [7]},
    "a decimal point": {"output_tokens": 7.0},
    "minus one": {"output_tokens": -1},
    "2 to the 53": {"output_tokens": 2**53},
    "null": {"output_tokens": None},
    "a name in capitals": {"Output": 7},
    "33 dimensions": {f"d{n}": 1 for n in range(33)},
}


@pytest.mark.parametrize("value", MALFORMED.values(), ids=MALFORMED.keys())
async def test_malformed_bounds_are_named_and_nothing_is_written(ledger, clock, rich, value):
    before = await ledger.contents()
    for place, more in [
        ("max_usage", {"max_usage": value}),
        (
            "alternatives.0.max_usage",
            {"amounts": tokens(1), "alternatives": [{"max_usage": value}]},
        ),
    ]:
        row = await ledger.one("reserve", request_id="r1", account_id="ann", model=MODEL, **more)
        assert_problem(row.body, 400, "malformed")
        assert row.body["errors"][0]["path"].startswith(place)
    assert await ledger.contents() == before


async def test_a_dry_run_prices_and_writes_nothing(ledger, clock, rich):
    before = await ledger.contents()
    reply = await ask(ledger, "r1", "ann", BOUNDS, dry_run=True)
    assert (reply["lines"][0]["amount"], reply["price_table_id"]) == (CEILING, rich["price_table_id"])  # fmt: skip
    assert await ledger.contents() == before


async def test_a_price_takes_effect_at_its_very_instant(ledger, clock, rich):
    later = await publish(
        ledger, effective_from="2026-09-14T12:00:05Z", rates=rates(output_tokens="30")
    )
    clock.advance(seconds=4, microseconds=999_999)
    before = await ask(ledger, "r1", "ann", {"input_tokens": 0, "output_tokens": 10})
    clock.advance(microseconds=1)
    after = await ask(ledger, "r2", "ann", {"input_tokens": 0, "output_tokens": 10})

    assert before["price_table_id"] == rich["price_table_id"]
    assert after["price_table_id"] == later["price_table_id"]
    assert [reply["lines"][0]["amount"] for reply in (before, after)] == [150_000, 300_000]


async def test_more_tokens_than_an_amount_can_be_are_refused(ledger, clock):
    await ledger.grant("ann", None)
    most = 2**53 - 1
    denied = await ask(ledger, "r1", "ann", {"input_tokens": most, "output_tokens": 1})
    assert_problem(denied, 422, "amount_out_of_range")
    assert denied["unit"] == "tokens"
    held = await ask(ledger, "r2", "ann", {"input_tokens": most - 1, "output_tokens": 1})
    assert held["lines"][0]["amount"] == most
