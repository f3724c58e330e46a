"""Field reports F, and those of A and C that are about prices: to the digit."""

import pytest

from tests.support.checks import assert_denied, assert_problem
from tests.support.clock import NOON
from tests.support.money import CENT, DOLLAR, MONTH, usd
from tests.support.prices import CHAT, MODEL, ask, publish, rates, spend, tier


@pytest.fixture
async def hard(ledger, clock):
    """ann has a hard budget of ten dollars a month."""
    await ledger.grant("ann", 10 * DOLLAR, unit="usd_nano", window=MONTH)


async def true_cost(ledger, table, usage):
    """What a usage settles at, after a hold large enough for it."""
    await publish(ledger, rates=table)
    await ask(ledger, "r1", "ann", usage)
    reply = await ledger.settle("r1", usage=usage)
    assert reply["overage"] == {}
    assert (await ledger.window("ann"))["settled"] == reply["amounts"]["usd_nano"]
    return reply["amounts"]["usd_nano"]


async def test_a9_what_exceeds_the_limit_is_denied_before_anything_starts(ledger, clock):
    """A9: L=1000 tokens; max_usage summing to 1200."""
    await ledger.grant("ann")
    for number, bounds in enumerate(
        [{"input_tokens": 800, "output_tokens": 400}, {"prompt_tokens": 1000, "completion_tokens": 200}]
    ):  # fmt: skip
        reply = await ask(ledger, f"r{number}", "ann", bounds)
        assert_denied(reply, "exceeds_limit", required=1200, limit=1000)
    assert (await ledger.window("ann"))["reserved"] == 0


async def test_a11_without_an_output_bound_nothing_is_held_and_others_go_on(ledger, hard):
    """A11: hard USD budget; max_usage without any output bound for a priced chat model."""
    await publish(ledger)
    item = {"account_id": "ann", "model": MODEL}
    rows = await ledger.many(
        "reserve",
        [
            {**item, "request_id": "r1", "max_usage": {"input_tokens": 1000}},
            {**item, "request_id": "r2", "max_usage": {"prompt_tokens": 1000}},
            {**item, "request_id": "r3", "max_usage": {"input_tokens": 1, "output_tokens": 1}},
        ],
    )
    for row in rows[:2]:
        assert_problem(row.body, 422, "dimension_unbounded")
        assert row.body["dimension"] == "output_tokens"
    assert rows[2].status == 200
    assert (await ledger.window("ann"))["reserved"] == 18_000


async def test_a13_a_request_is_never_shrunk_to_fit_and_the_denial_says_what_would(ledger, clock):
    """A13: available $0.08; reserve($0.10)."""
    await ledger.grant("ann", 8 * CENT, unit="usd_nano")
    reply = await ledger.reserve("r1", "ann", usd(10 * CENT))
    assert_denied(reply, "exceeds_limit", available=8 * CENT, affordable=usd(8 * CENT))
    await publish(ledger, rates=rates(output_tokens="10"))
    reply = await ask(ledger, "r2", "ann", {"output_tokens": 10_000})
    assert_denied(reply, "exceeds_limit", available=8 * CENT, affordable={"output_tokens": 8000})
    assert (await ledger.window("ann"))["reserved"] == 0


@pytest.mark.parametrize("model", ["acme/unknown", f"{MODEL}-2026", f"{MODEL}:batch", "chat-1"])
async def test_a15_f8_a_model_without_a_price_is_refused_and_nothing_is_held(ledger, hard, model):
    """A15, F8: model without price, hard USD budget."""
    await publish(ledger)
    before = await ledger.contents()
    reply = await ask(ledger, "r1", "ann", {"input_tokens": 1, "output_tokens": 1}, model=model)
    assert_problem(reply, 422, "price_missing")
    assert await ledger.contents() == before


async def test_c20_the_smallest_call_costs_280_nano_dollars_every_time(ledger, clock):
    """C20: 14 tokens at $0.02 per million, many times over."""
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger, rates=rates(input_tokens="0.02"))
    item = {"account_id": "ann", "model": MODEL}
    for batch in range(20):
        ids = [f"{batch}-{n}" for n in range(500)]
        await ledger.many("reserve", [{**item, "request_id": i, "max_usage": {"input_tokens": 20}} for i in ids])  # fmt: skip
        rows = await ledger.many("settle", [{"request_id": i, "usage": {"input_tokens": 14}} for i in ids])  # fmt: skip
        assert {row.body["amounts"]["usd_nano"] for row in rows} == {280}
    assert (await ledger.window("ann"))["settled"] == 10_000 * 280
    at_once = await spend(ledger, "all", "ann", {"input_tokens": 14 * 1_000_000})
    assert at_once["lines"][0]["amount"] == 28 * CENT


async def test_f1_cached_tokens_are_a_dimension_of_their_own(ledger, hard):
    """F1: prompt 27,147 of which cached 27,146, output 351; 1.40 in, 0.26 cached, 4.40 out."""
    table = rates(input_tokens="1.40", cached_input_tokens="0.26", output_tokens="4.40")
    usage = {"input_tokens": 1, "cached_input_tokens": 27_146, "output_tokens": 351}
    assert await true_cost(ledger, table, usage) == 8_603_760


async def test_f3_cache_writes_cost_their_own_rate(ledger, hard):
    """F3: input 3, cache write 12,304, output 550; 3 in, 3.75 write, 15 out."""
    table = rates(input_tokens="3", cache_write_tokens="3.75", output_tokens="15")
    usage = {"input_tokens": 3, "cache_write_tokens": 12_304, "output_tokens": 550}
    assert await true_cost(ledger, table, usage) == 54_399_000


@pytest.mark.parametrize("bound", ["input_tokens", "prompt_tokens"])
async def test_f6_one_token_above_the_tier_prices_every_token_higher(ledger, hard, bound):
    """F6: input bound 272,001 on a table with a tier above 272,000."""
    low, high = rates(input_tokens="2.50", output_tokens="15"), rates(input_tokens="5", output_tokens="22.50")  # fmt: skip
    await publish(ledger, tiers=[tier(0, low), tier(272_000, high)])
    below = await ask(ledger, "r1", "ann", {bound: 272_000, "output_tokens": 1000})
    above = await ask(ledger, "r2", "ann", {bound: 272_001, "output_tokens": 1000})
    assert below["lines"][0]["amount"] == 272_000 * 2500 + 15_000_000
    assert above["lines"][0]["amount"] == 272_001 * 5000 + 22_500_000


async def test_f9_what_is_free_is_authorized_with_nothing_available_and_recorded(ledger, clock):
    """F9: explicit price 0, nothing available."""
    await ledger.grant("ann", 0, unit="usd_nano")
    await publish(ledger, rates=rates(input_tokens="0", output_tokens="0"))
    bounds = {"input_tokens": 1000, "output_tokens": 1000}
    reply = await ask(ledger, "r1", "ann", bounds)
    assert (reply["decision"], reply["lines"][0]["amount"]) == ("authorized", 0)
    settled = await ledger.settle("r1", usage=bounds)
    assert settled["cost"] == {"usd_nano": {"input_tokens": 0, "output_tokens": 0}}
    event = await ledger.connection.fetchrow("select kind, usage from preauth.usage_event")
    assert (event["kind"], event["usage"]) == ("settlement", bounds)


async def test_f10_a_hold_is_settled_by_the_price_it_was_made_at(ledger, clock, hard):
    """F10: hold at version 1, publish version 2, settle."""
    first = await publish(ledger)
    bounds = {"input_tokens": 1000, "output_tokens": 500}
    await ask(ledger, "r1", "ann", bounds)
    await ask(ledger, "r2", "ann", bounds)
    before = await ledger.settle("r1", usage=bounds)
    report = await ledger.call("audit_spend", since=clock.now, until=clock.advance(seconds=1))
    await publish(ledger, rates=rates(input_tokens="30", output_tokens="150"))
    assert [row["amount"] for row in report["items"] if row["unit"] == "usd_nano"] == [10_500_000]
    assert await ledger.call("audit_spend", since=NOON, until=clock.now) == report
    after = await ledger.settle("r2", usage=bounds)
    assert before["amounts"] == after["amounts"] == {"usd_nano": 10_500_000, "tokens": 1500}
    assert before["cost"] == after["cost"]
    assert after["price_table_id"] == first["price_table_id"]
    read = await ledger.call("price_table", price_table_id=first["price_table_id"])
    assert read["rates"]["input_tokens"]["micro_usd"] == CHAT["input_tokens"]["micro_usd"]
