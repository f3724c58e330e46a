"""A denial says the largest output bound that would fit now."""

import pytest

from tests.support.checks import assert_denied
from tests.support.money import CENT, usd
from tests.support.prices import CHAT, ask, publish, rate, rates, tier

BOUNDS = {"input_tokens": 1000, "output_tokens": 500}


async def test_it_is_the_largest_output_that_fits_to_the_token(ledger, clock, rich):
    await ledger.reserve("before", "ann", usd(92 * CENT))
    bounds = {"input_tokens": 1000, "output_tokens": 7000}
    reply = await ask(ledger, "r1", "ann", bounds)
    assert_denied(reply, "budget_exhausted", available=8 * CENT, required=108_000_000)
    # (80,000,000 - 3,000,000) / 15,000 = 5,133.33
    assert reply["affordable"] == {"output_tokens": 5133}
    one_more = await ask(ledger, "r2", "ann", {**bounds, "output_tokens": 5134})
    assert one_more["decision"] == "denied"
    fits = await ask(ledger, "r3", "ann", {**bounds, "output_tokens": 5133})
    assert fits["decision"] == "authorized"


@pytest.mark.parametrize("requests", [{}, {"requests": 0}, {"requests": 2}])
async def test_the_request_that_every_call_is_is_paid_before_any_output(ledger, clock, requests):
    await ledger.grant("ann", 10_000_000, unit="usd_nano")
    await publish(ledger, rates={**CHAT, "requests": rate("2", 1000)})
    bounds = {"input_tokens": 0, "output_tokens": 5000, **requests}
    denied = await ask(ledger, "r1", "ann", bounds)
    # a request is $0.002, a token of output 15,000 nano-dollars
    most = (10_000_000 - max(requests.get("requests", 1), 1) * 2_000_000) // 15_000
    assert denied["affordable"] == {"output_tokens": most}
    one_more = await ask(ledger, "r2", "ann", {**bounds, "output_tokens": most + 1})
    assert one_more["decision"] == "denied"
    fits = await ask(ledger, "r3", "ann", {**bounds, "output_tokens": most})
    assert fits["decision"] == "authorized"


@pytest.mark.parametrize(
    ("money", "tokens", "credit", "most"),
    [(1_011_999, 1000, 9, 45), (2_000_000, 130, 9, 30), (2_000_000, 1000, 4, 16)],
)
async def test_it_is_of_the_tier_of_the_input_and_of_the_tightest_of_all_budgets(
    ledger, clock, money, tokens, credit, most
):
    """100 of input cost 100,000, and each output 20,000 with them; a credit is 29 tokens."""
    await ledger.grant("ann", money, "money", unit="usd_nano")
    await ledger.grant("ann", tokens, "tokens")
    await ledger.grant("ann", credit, "credits", unit="credits")
    cheap, dear = (rates(input_tokens="1", output_tokens=usd) for usd in ("5", "20"))
    await publish(ledger, tiers=[tier(0, cheap), tier(99, dear)])
    one = {"amount": 1, "per": 29}
    await publish(ledger, unit="credits", rates={"input_tokens": one, "output_tokens": one})
    bounds = {"input_tokens": 100, "output_tokens": 5000}
    denied = await ask(ledger, "r1", "ann", bounds)
    assert denied["affordable"] == {"output_tokens": most}
    one_more = await ask(ledger, "r2", "ann", {**bounds, "output_tokens": most + 1})
    assert one_more["decision"] == "denied"
    fits = await ask(ledger, "r3", "ann", {**bounds, "output_tokens": most})
    assert fits["decision"] == "authorized"


async def test_every_budget_counts(ledger, clock, rich):
    await ledger.grant("ann", 1100, "tokens")
    reply = await ask(ledger, "r1", "ann", {"prompt_tokens": 1000, "completion_tokens": 500})
    assert_denied(reply, "exceeds_limit", affordable={"completion_tokens": 100})


async def test_of_several_outputs_each_is_told(ledger, clock):
    await ledger.grant("ann", 10_000, unit="usd_nano")
    await publish(ledger, rates=rates(output_tokens="1", reasoning_tokens="2"))
    reply = await ask(ledger, "r1", "ann", {"output_tokens": 6, "reasoning_tokens": 3})
    assert reply["affordable"] == {"output_tokens": 4, "reasoning_tokens": 2}


async def test_it_is_null_when_not_even_no_output_fits(ledger, clock, rich):
    reply = await ask(ledger, "r1", "ann", {"input_tokens": 400_000, "output_tokens": 5})
    assert_denied(reply, "exceeds_limit", affordable=None)


async def test_it_is_null_when_another_budget_is_full(ledger, clock, rich):
    await ledger.grant("ann", 1, "rate", unit="requests")
    await ask(ledger, "r1", "ann", BOUNDS)
    reply = await ask(ledger, "r2", "ann", BOUNDS)
    assert_denied(reply, "budget_exhausted", unit="requests", affordable=None)


async def test_of_amounts_it_is_the_amount_that_fits(ledger, clock, rich):
    await ledger.reserve("before", "ann", usd(92 * CENT))
    reply = await ledger.reserve("r1", "ann", usd(10 * CENT))
    assert_denied(reply, "budget_exhausted", affordable={"usd_nano": 8 * CENT})


async def test_a_shared_budget_says_nothing(ledger, clock, rich):
    await ledger.put_account("child", parent_id="ann")
    reply = await ask(ledger, "r1", "child", {"input_tokens": 1, "output_tokens": 100_000})
    assert_denied(reply, "exceeds_limit", scope="ann")
    assert "affordable" not in reply


async def test_nor_does_a_shared_one_that_leaves_less_than_the_own(ledger, clock, rich):
    await ledger.put_account("child", parent_id="ann")
    await ledger.grant("child", 1000, "own")
    await ask(ledger, "r0", "child", {"input_tokens": 0, "output_tokens": 600})
    await ledger.reserve("r1", "ann", usd(99 * CENT))
    reply = await ask(ledger, "r2", "child", {"input_tokens": 0, "output_tokens": 900})
    assert_denied(reply, "budget_exhausted", scope="child", affordable=None)


async def test_of_a_free_output_any_fits_where_the_input_does(ledger, clock):
    await ledger.grant("ann", 9000, unit="usd_nano")
    await publish(ledger, rates=rates(input_tokens="1", output_tokens="0", reasoning_tokens="2"))
    dear = {"input_tokens": 5, "output_tokens": 700, "reasoning_tokens": 3}
    reply = await ask(ledger, "r1", "ann", dear)
    # 5 of input leave 4000 for reasoning; no output makes 3 of reasoning fit beside them
    assert_denied(reply, "exceeds_limit", affordable={"reasoning_tokens": 2})
    reply = await ask(ledger, "r2", "ann", {"input_tokens": 10, "output_tokens": 7})
    assert_denied(reply, "exceeds_limit", affordable=None)
