"""The true cost: usage priced by the reservation's own table, whatever was published since."""

import pytest

from tests.support.checks import assert_problem, assert_same
from tests.support.money import DOLLAR, MONTH, budget, tokens, usd
from tests.support.prices import CHAT, MODEL, ask, publish, rate, rates, tier
from tests.support.session import Figures

BOUNDS = {"input_tokens": 1000, "cached_input_tokens": 1000, "output_tokens": 500}
USAGE = {"input_tokens": 10, "cached_input_tokens": 7, "output_tokens": 200}
SHARES = {"input_tokens": 30_000, "cached_input_tokens": 2100, "output_tokens": 3_000_000}
COST = sum(SHARES.values())


@pytest.fixture
async def held(ledger):
    """ann has a dollar, and holds the ceiling of BOUNDS as r1."""
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger)
    return await ask(ledger, "r1", "ann", BOUNDS)


async def settle(ledger, usage=None, request_id="r1", **more):
    given = {} if usage is None else {"usage": usage}
    return await ledger.settle(request_id, **given, **more)


async def test_it_settles_the_cost_and_tells_it_by_dimension(ledger, clock, held):
    reply = await settle(ledger, USAGE)
    assert reply["amounts"] == {"usd_nano": COST, "tokens": 217}
    assert (reply["usage"], reply["cost"]) == (USAGE, {"usd_nano": SHARES})
    assert reply["price_table_id"] == held["price_table_id"]
    assert reply["overage"] == {}
    assert await ledger.figures("ann") == Figures(COST, 0, DOLLAR - COST)


async def test_the_usage_event_keeps_usage_cost_and_price_table(ledger, clock, held):
    await settle(ledger, USAGE)
    event = await ledger.connection.fetchrow("select * from preauth.usage_event")
    assert event["amounts"] == {"usd_nano": COST, "tokens": 217}
    assert (event["usage"], event["cost"]) == (USAGE, {"usd_nano": SHARES})
    assert event["price_table_ids"] == [held["price_table_id"]]
    kept = (await ledger.reservation("r1"))["settlement"]
    assert kept["cost"] == {"usd_nano": SHARES}


async def test_a_price_published_since_changes_nothing(ledger, clock, held):
    clock.advance(seconds=1)
    await publish(ledger, rates=rates(input_tokens="9", cached_input_tokens="9", output_tokens="9"))
    assert (await settle(ledger, USAGE))["amounts"]["usd_nano"] == COST


async def test_nor_does_an_alias_that_stands_for_something_else_since(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger, aliases=["latest"])
    await ask(ledger, "r1", "ann", BOUNDS, model="latest")
    clock.advance(seconds=1)
    await publish(ledger, "acme/chat-2", aliases=["latest"], rates=rates(output_tokens="99"))
    assert (await settle(ledger, USAGE))["amounts"]["usd_nano"] == COST


async def test_the_same_usage_again_is_replayed_and_another_is_a_conflict(ledger, clock, held):
    first = await settle(ledger, USAGE)
    clock.advance(seconds=1)
    await publish(ledger, rates=rates(input_tokens="9", output_tokens="9"))
    assert_same(first, await settle(ledger, USAGE))
    assert_same(first, await settle(ledger, amounts=first["amounts"]))
    moved = await ledger.movements()
    same_cost = {**USAGE, "input_tokens": 9, "cached_input_tokens": 17}
    for other in ({**USAGE, "output_tokens": 201}, same_cost):
        assert_problem(await settle(ledger, other), 409, "settlement_conflict")
    assert await ledger.movements() == moved


async def test_the_tier_of_what_was_used_applies_not_that_of_the_bound(ledger, clock):
    await ledger.grant("ann", 5 * DOLLAR, unit="usd_nano")
    dear = rates(input_tokens="6", cached_input_tokens="0.60", output_tokens="22.50")
    await publish(ledger, tiers=[tier(0, CHAT), tier(200_000, dear)])
    bounds = {"prompt_tokens": 300_000, "output_tokens": 10}
    for name, usage, cost in [
        ("r1", {"input_tokens": 200_000, "output_tokens": 10}, 200_000 * 3000 + 150_000),
        ("r2", {"input_tokens": 100_000, "cached_input_tokens": 100_001, "output_tokens": 10},
         100_000 * 6000 + 100_001 * 600 + 225_000),
    ]:  # fmt: skip
        await ask(ledger, name, "ann", bounds)
        assert (await settle(ledger, usage, name))["amounts"]["usd_nano"] == cost


async def test_tokens_requests_and_other_units_are_settled_too(ledger, clock):
    await ledger.grant("ann", DOLLAR, "money", unit="usd_nano")
    await ledger.grant("ann", 5000, "tokens")
    await ledger.grant("ann", 9, "requests", unit="requests")
    await ledger.grant("ann", 99, "credits", unit="credits")
    await publish(ledger)
    await publish(ledger, unit="credits", rates={name: {"amount": 1, "per": 100} for name in CHAT})
    await ask(ledger, "r1", "ann", BOUNDS)
    reply = await settle(ledger, USAGE)
    assert {line["unit"]: line["amount"] for line in reply["lines"]} == {
        "usd_nano": COST, "tokens": 217, "requests": 1, "credits": 3,
    }  # fmt: skip
    assert sum(reply["cost"]["credits"].values()) == 3


async def test_above_the_ceiling_is_overage(ledger, clock, held):
    reply = await settle(ledger, {**USAGE, "output_tokens": 1000})
    held_amount = 3_000_000 + 300_000 + 7_500_000
    spent = 30_000 + 2100 + 15_000_000
    assert reply["overage"] == {"usd_nano": spent - held_amount}
    assert (await ledger.window("ann"))["settled"] == spent


class TestUnbounded:
    """What no bound was asked for was never authorized: it counts as overage."""

    @pytest.fixture
    async def priced(self, ledger):
        await publish(ledger, rates={**CHAT, "web_searches": rate("10", 1000), "reasoning_tokens": rate("15")})  # fmt: skip

    async def test_its_whole_cost_is_overage_though_it_fits_the_hold(self, ledger, clock, priced):
        await ledger.grant("ann", DOLLAR, unit="usd_nano")
        await ledger.grant("ann", 5000, "tokens")
        await ask(ledger, "r1", "ann", {"input_tokens": 1000, "output_tokens": 500})
        reply = await settle(ledger, {"output_tokens": 1, "web_searches": 0, "reasoning_tokens": 3})
        assert reply["amounts"] == {"usd_nano": 60_000, "tokens": 4}
        assert reply["overage"] == {"usd_nano": 45_000, "tokens": 3}
        event = await ledger.connection.fetchrow("select * from preauth.usage_event")
        assert event["overage"] == {"usd_nano": 45_000, "tokens": 3}

    async def test_a_budget_that_rejects_overage_rejects_it(self, ledger, clock, priced):
        await ledger.grant("ann", DOLLAR, unit="usd_nano", overage="reject")
        await ask(ledger, "r1", "ann", {"input_tokens": 1000, "output_tokens": 5000})
        usage = {"output_tokens": 1, "web_searches": 2}
        assert_problem(await settle(ledger, usage), 409, "settlement_exceeds_hold")
        accepted = await ledger.call("resolve", request_id="r1", action="accept_overage", reason="ok")  # fmt: skip
        assert accepted["amounts"]["usd_nano"] == 15_000 + 20_000_000
        assert accepted["overage"] == {"usd_nano": 20_000_000}
        assert accepted["cost"] == {
            "usd_nano": {"output_tokens": 15_000, "web_searches": 20_000_000}
        }
        again = await ledger.call("resolve", request_id="r1", action="accept_overage", reason="ok")
        assert_same(accepted, again)

    async def test_it_is_overage_in_whichever_unit_it_costs(self, ledger, clock, priced):
        await ledger.grant("ann", 9000, "credits", unit="credits", overage="reject")
        one = {"amount": 1, "per": 1}
        await publish(
            ledger, unit="credits",
            rates={"input_tokens": one, "output_tokens": one, "images": one},
        )  # fmt: skip
        await ask(ledger, "c1", "ann", {"input_tokens": 5, "output_tokens": 5000}, amounts=usd(5))
        usage = {"output_tokens": 1000, "images": 2}
        reply = await ledger.settle("c1", usage=usage, amounts=usd(5))
        assert_problem(reply, 409, "settlement_exceeds_hold")

    @pytest.mark.parametrize(("bound", "free"), [({}, 3), ({"requests": 0}, 3), ({"requests": 2}, 2)])  # fmt: skip
    async def test_requests_above_the_one_that_a_call_is_or_their_bound_are_overage(
        self, ledger, clock, bound, free
    ):
        await ledger.grant("ann", DOLLAR, unit="usd_nano")
        await publish(ledger, rates={**CHAT, "requests": rate("5", 1000)})
        await ask(ledger, "r1", "ann", {"input_tokens": 1, "output_tokens": 5000, **bound})
        reply = await ledger.settle("r1", usage={"output_tokens": 1, "requests": 4})
        assert reply["overage"] == {"usd_nano": free * 5_000_000}

    async def test_what_stands_for_any_kind_bounds_it(self, ledger, clock, priced):
        await ledger.grant("ann", DOLLAR, unit="usd_nano", overage="reject")
        await ask(ledger, "r1", "ann", {"prompt_tokens": 50, "completion_tokens": 5})
        reply = await settle(ledger, {"cached_input_tokens": 9, "reasoning_tokens": 3})
        assert (reply["state"], reply["overage"]) == ("settled", {})


async def test_a_dimension_without_a_rate_is_refused_and_never_free(ledger, clock, held):
    before = await ledger.contents()
    reply = await settle(ledger, {**USAGE, "cache_write_tokens": 5})
    assert_problem(reply, 422, "dimension_unpriced")
    assert (reply["dimension"], reply["model"]) == ("cache_write_tokens", MODEL)
    assert await ledger.contents() == before
    nothing = await settle(ledger, {**USAGE, "cache_write_tokens": 0})
    assert nothing["amounts"]["usd_nano"] == COST


async def test_more_than_an_amount_can_be_is_refused(ledger, clock, held):
    reply = await settle(ledger, {"output_tokens": 2**53 - 1})
    assert_problem(reply, 422, "amount_out_of_range")


async def test_a_hold_of_tokens_alone_needs_no_price(ledger, clock):
    await ledger.grant("ann", 2000)
    await ask(ledger, "r1", "ann", {"output_tokens": 500}, model="other")
    reply = await settle(ledger, {"output_tokens": 20, "web_searches": 3})
    assert reply["amounts"] == {"tokens": 20}
    assert (reply["cost"], reply["price_table_id"]) == (None, None)


async def test_a_hold_by_amounts_is_priced_by_what_was_in_effect_when_it_was_made(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger)
    await ledger.reserve("r1", "ann", usd(5_000_000), model=MODEL)
    clock.advance(seconds=1)
    await publish(ledger, rates=rates(input_tokens="9", output_tokens="9"), effective_from="2026-09-14T11:00:00Z")  # fmt: skip
    reply = await settle(ledger, USAGE)
    assert reply["amounts"]["usd_nano"] == COST
    assert reply["overage"] == {}


async def test_a_hold_of_money_that_no_price_can_settle_says_so(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await ledger.reserve("r1", "ann", usd(5), model="other")
    reply = await settle(ledger, USAGE)
    assert_problem(reply, 422, "price_missing")
    assert reply["model"] == "other"
    assert (await settle(ledger, USAGE, amounts=usd(4)))["amounts"] == {
        "usd_nano": 4,
        "tokens": 217,
    }


async def test_amounts_tell_what_no_price_does(ledger, clock, held):
    await ledger.grant("ann", 9, "credits", unit="credits")
    await ask(ledger, "r2", "ann", BOUNDS, amounts={"credits": 5})
    assert_problem(await settle(ledger, USAGE, "r2"), 422, "amount_missing")
    reply = await settle(ledger, USAGE, "r2", amounts={"credits": 2})
    assert {line["unit"]: line["amount"] for line in reply["lines"]} == {"usd_nano": COST, "credits": 2}  # fmt: skip


async def test_after_the_hold_lapsed_the_true_cost_is_charged_late(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano", on_expiry="release")
    await publish(ledger)
    await ask(ledger, "r1", "ann", BOUNDS)
    clock.advance(hours=1)
    reply = await settle(ledger, USAGE)
    assert (reply["late"], reply["amounts"]["usd_nano"]) == (True, COST)


async def test_a_hold_charged_when_its_time_passed_costs_its_ceiling_by_dimension(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano", on_expiry="charge")
    await publish(ledger)
    await ask(ledger, "r1", "ann", BOUNDS)
    clock.advance(hours=1)
    assert await ledger.expire() == 1
    event = await ledger.connection.fetchrow("select * from preauth.usage_event")
    assert event["amounts"] == {"usd_nano": 10_800_000, "tokens": 2500}
    assert event["cost"]["usd_nano"]["output_tokens"] == 7_500_000


async def test_a_person_settles_by_usage_too(ledger, clock, held):
    await ledger.settle("r1", outcome="unknown")
    reply = await ledger.call("resolve", request_id="r1", action="settle", reason="the log", usage=USAGE)  # fmt: skip
    assert (reply["amounts"]["usd_nano"], reply["resolved"]) == (COST, True)


async def test_a_batch_settles_each_by_its_own_table(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano", window=MONTH)
    for number in range(3):
        clock.advance(seconds=1)
        await publish(ledger, rates=rates(output_tokens=str(number + 1)))
        await ask(ledger, f"r{number}", "ann", {"output_tokens": 1000})
    await ledger.reserve("plain", "ann", usd(5))
    items = [{"request_id": f"r{n}", "usage": {"output_tokens": 1000}} for n in range(3)]
    plain = {"request_id": "plain", "amounts": usd(5)}
    rows = await ledger.many("settle", [*items, plain, *items])
    assert [row.body["amounts"]["usd_nano"] for row in rows] == [1_000_000, 2_000_000, 3_000_000, 5, 1_000_000, 2_000_000, 3_000_000]  # fmt: skip
    assert [row.body["replayed"] for row in rows] == [False] * 4 + [True] * 3


MALFORMED = {
    "a stand-in for any kind": ({"usage": {"completion_tokens": 5}}, ["usage.completion_tokens"]),
    "a fraction": ({"usage": {"input_tokens": 5.5}}, ["usage.input_tokens"]),
    "nothing": ({"usage": {}}, ["usage"]),
    "text": ({"usage": "many"}, ["usage"]),
    "with an unknown outcome": ({"usage": USAGE, "outcome": "unknown"}, ["usage"]),
    "neither": ({}, ["amounts"]),
    "bounds": ({"max_usage": BOUNDS}, ["amounts", "max_usage"]),
}


@pytest.mark.parametrize(("body", "paths"), MALFORMED.values(), ids=MALFORMED.keys())
async def test_malformed_usage_is_named_and_nothing_is_written(ledger, clock, held, body, paths):
    before = await ledger.contents()
    row = await ledger.one("settle", request_id="r1", **body)
    assert_problem(row.body, 400, "malformed")
    assert sorted(error["path"] for error in row.body["errors"]) == paths
    assert await ledger.contents() == before


async def test_in_sql_a_providers_own_object_is_refused_with_a_word_of_advice(ledger, clock, held):
    row = await ledger.one("settle", request_id="r1", provider_usage={"api": "x", "usage": {}}, amounts=tokens(1))  # fmt: skip
    assert_problem(row.body, 400, "malformed")
    (error,) = row.body["errors"]
    assert error["path"] == "provider_usage"
    assert "usage {dimension: count}" in error["message"]


async def test_a_plan_that_only_counts_settles_what_counts(ledger, clock):
    money = budget("money", DOLLAR, "usd_nano", enforcement="observe")
    await ledger.put_plan("p", money, budget("tokens", 2000), unpriced="count_only")
    await ledger.put_account("ann", plan_id="p")
    await ask(ledger, "r1", "ann", {"output_tokens": 500}, model="other")
    await publish(ledger, "other")
    reply = await settle(ledger, {"output_tokens": 20})
    assert (reply["amounts"], reply["cost"]) == ({"tokens": 20}, None)


async def test_other_usage_of_the_same_cost_and_as_many_tokens_is_a_conflict(ledger, clock, held):
    usage = {"input_tokens": 100, "cached_input_tokens": 10, "output_tokens": 10}
    other = {"input_tokens": 51, "cached_input_tokens": 50, "output_tokens": 19}
    first = await settle(ledger, usage)
    assert first["amounts"] == {"usd_nano": 453_000, "tokens": 120}
    assert_problem(await settle(ledger, other), 409, "settlement_conflict")
    assert_same(first, await settle(ledger, usage))
