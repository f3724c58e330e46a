"""Plan option unpriced: count_only."""

import pytest

from tests.support.checks import assert_problem
from tests.support.money import DOLLAR, budget
from tests.support.prices import ask

BOUNDS = {"input_tokens": 1000, "output_tokens": 500}


async def plan(ledger, *budgets, **more):
    await ledger.put_plan("p", *budgets, **more)
    await ledger.put_account("ann", plan_id="p")


@pytest.mark.parametrize("enforcement", ["soft", "observe"])
async def test_tokens_and_requests_count_and_money_is_left_out(ledger, clock, enforcement):
    money = budget("money", DOLLAR, "usd_nano", enforcement=enforcement)
    counts = budget("tokens", 2000), budget("requests", 9, "requests")
    await plan(ledger, money, *counts, unpriced="count_only")
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="other")
    assert {line["unit"]: line["amount"] for line in reply["lines"]} == {
        "tokens": 1500,
        "requests": 1,
    }


async def test_a_hard_budget_of_money_refuses_all_the_same(ledger, clock):
    money = budget("money", DOLLAR, "usd_nano")
    await plan(ledger, money, budget("tokens", 2000), unpriced="count_only")
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="other")
    assert_problem(reply, 422, "price_missing")


async def test_it_holds_for_accounts_below_that_have_no_plan_of_their_own(ledger, clock):
    money = budget("money", DOLLAR, "usd_nano", enforcement="observe")
    await plan(ledger, money, budget("tokens", 2000), unpriced="count_only")
    await ledger.put_account("child", parent_id="ann")
    reply = await ask(ledger, "r1", "child", BOUNDS, model="other")
    assert [line["unit"] for line in reply["lines"]] == ["tokens"]


@pytest.mark.parametrize("unpriced", ["refuse", "count_only"])
async def test_the_plan_of_an_account_elsewhere_decides_nothing(ledger, clock, unpriced):
    money = budget("money", DOLLAR, "usd_nano", enforcement="observe")
    await plan(ledger, money, budget("tokens", 2000), unpriced=unpriced)
    other = "count_only" if unpriced == "refuse" else "refuse"
    await ledger.put_plan("q", budget("tokens", 2000), unpriced=other)
    await ledger.put_account("org")
    await ledger.put_account("deeper", parent_id="org", plan_id="q")
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="other")
    if unpriced == "refuse":
        assert_problem(reply, 422, "price_missing")
    else:
        assert [line["unit"] for line in reply["lines"]] == ["tokens"]


async def test_a_plan_refuses_unless_it_says_so(ledger, clock):
    money = budget("money", DOLLAR, "usd_nano", enforcement="observe")
    await plan(ledger, money, budget("tokens", 2000))
    assert (await ledger.call("plan", plan_id="p"))["unpriced"] == "refuse"
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="other")
    assert_problem(reply, 422, "price_missing")
    await plan(ledger, money, budget("tokens", 2000), unpriced="count_only")
    assert (await ask(ledger, "r1", "ann", BOUNDS, model="other"))["decision"] == "authorized"


async def test_anything_else_is_malformed(ledger, clock):
    reply = await ledger.put_plan("p", budget("tokens", 5), unpriced="ignore")
    assert_problem(reply, 400, "malformed")


async def test_a_price_that_is_missing_matters_to_nobody_where_no_budget_counts_money(
    ledger, clock
):
    """Though another unit is not told either: a soft budget without its unit is left out."""
    counts = budget("tokens", 2000), budget("credits", 9, "credits", enforcement="soft")
    await plan(ledger, *counts)
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="other")
    assert [line["unit"] for line in reply["lines"]] == ["tokens"]


@pytest.mark.parametrize(("own", "above"), [("count_only", "refuse"), ("refuse", "count_only")])
async def test_of_a_plan_and_one_above_the_nearest_says_what_happens(ledger, clock, own, above):
    money = budget("money", DOLLAR, "usd_nano", enforcement="observe")
    of_no_weight = budget("seats", 9, "seats", enforcement="observe")
    await ledger.put_plan("above", of_no_weight, unpriced=above)
    assert (await ledger.put_account("org", plan_id="above"))["plan_id"] == "above"
    await plan(ledger, money, budget("tokens", 2000), unpriced=own)
    await ledger.put_account("ann", parent_id="org")
    reply = await ask(ledger, "r1", "ann", BOUNDS, model="other")
    if own == "refuse":
        assert_problem(reply, 422, "price_missing")
    else:
        assert [line["unit"] for line in reply["lines"]] == ["tokens"]
