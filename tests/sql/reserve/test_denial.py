"""A denial names what could not cover the request, writes the decision and holds nothing."""

from tests.support.checks import assert_denied, assert_problem, at
from tests.support.money import CENT, DAY, MONTH, budget, tokens, usd

MEMBERS = {
    "type", "title", "status", "detail", "request_id", "account_id", "decision", "reason",
    "budget", "scope", "window", "unit", "limit", "required", "available", "retry_after_ms",
    "resets_at", "affordable", "replayed",
}  # fmt: skip


async def test_an_exhausted_budget_is_named_with_its_figures(ledger, clock):
    await ledger.grant("ann", window=MONTH)
    await ledger.reserve("r1", "ann", tokens(400))
    reply = await ledger.reserve("r2", "ann", tokens(700))
    assert_denied(
        reply, "budget_exhausted", status=429, request_id="r2", account_id="ann", budget="cap",
        scope="ann", window="2026-09", unit="tokens", limit=1000, required=700, available=600,
        replayed=False,
    )  # fmt: skip
    assert MEMBERS - {"affordable"} <= set(reply) <= MEMBERS
    assert reply["type"].startswith("https://preauth.dev/problems/")
    assert reply["title"]
    assert reply["detail"]


async def test_a_denial_holds_nothing_and_is_recorded(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    await ledger.reserve("r2", "ann", tokens(700))
    assert (await ledger.window("ann"))["reserved"] == 400
    assert (await ledger.reservation("r2"))["decision"] == "denied"


async def test_what_exceeds_the_whole_limit_never_fits(ledger, clock):
    await ledger.grant("ann", window=MONTH)
    reply = await ledger.reserve("r1", "ann", tokens(1001))
    assert_denied(
        reply, "exceeds_limit", status=402, limit=1000, required=1001, retry_after_ms=None
    )


async def test_one_above_what_is_available_is_denied_and_all_of_it_is_authorized(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(999))
    assert_denied(await ledger.reserve("r2", "ann", tokens(2)), "budget_exhausted", available=1)
    assert (await ledger.reserve("r3", "ann", tokens(1)))["decision"] == "authorized"


async def test_resets_at_is_the_windows_end(ledger, clock):
    await ledger.grant("ann", window=DAY)
    await ledger.reserve("r1", "ann", tokens(1000))
    reply = await ledger.reserve("r2", "ann", tokens(1))
    assert reply["resets_at"].startswith("2026-09-15T00:00:00")
    assert at(reply["resets_at"]) > clock.now


async def test_an_unknown_account_is_denied_and_not_created(ledger, clock):
    reply = await ledger.reserve("r1", "nobody", tokens(1))
    assert_denied(reply, "account_unknown")
    assert await ledger.count("account") == 0


async def test_a_suspended_account_is_denied_until_it_is_active_again(ledger, clock):
    await ledger.grant("ann")
    await ledger.put_account("ann", status="suspended")
    assert_denied(await ledger.reserve("r1", "ann", tokens(1)), "account_suspended")
    await ledger.put_account("ann", status="active")
    assert (await ledger.reserve("r2", "ann", tokens(1)))["decision"] == "authorized"


async def test_an_account_without_any_budget_is_denied(ledger, clock):
    await ledger.put_account("ann")
    assert_denied(await ledger.reserve("r1", "ann", tokens(1)), "no_budget")


async def test_a_budget_for_another_model_is_no_budget(ledger, clock):
    await ledger.grant("ann", model="opus")
    assert_denied(await ledger.reserve("r1", "ann", tokens(1), model="haiku"), "no_budget")


async def test_a_retired_budget_is_no_budget(ledger, clock):
    await ledger.grant("ann")
    await ledger.call("delete_budget", account_id="ann", name="cap")
    assert_denied(await ledger.reserve("r1", "ann", tokens(1)), "no_budget")


async def test_a_hard_budget_whose_unit_is_not_given_refuses_and_holds_nothing(ledger, clock):
    await ledger.grant("ann", name="money", unit="usd_nano", limit=50 * CENT)
    await ledger.grant("ann", name="words")
    before = await ledger.contents()
    assert_problem(await ledger.reserve("r1", "ann", tokens(10)), 422, "amount_missing")
    assert await ledger.contents() == before


async def test_an_observing_budget_whose_unit_is_not_given_does_not_refuse(ledger, clock):
    await ledger.grant("ann", name="money", unit="usd_nano", enforcement="observe")
    await ledger.grant("ann", name="words")
    assert (await ledger.reserve("r1", "ann", tokens(10)))["decision"] == "authorized"


async def test_the_first_budget_that_cannot_cover_is_named_leaf_before_root(ledger, clock):
    await ledger.grant("org", 100)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 100)
    await ledger.reserve("r1", "ann", tokens(80))
    reply = await ledger.reserve("r2", "ann", tokens(30))
    assert_denied(reply, "budget_exhausted", scope="ann", available=20)


async def test_a_model_budget_is_named_before_a_budget_for_all(ledger, clock):
    await ledger.grant("ann", 100, "a-for-all")
    await ledger.grant("ann", 100, "z-for-opus", model="opus")
    await ledger.reserve("r1", "ann", tokens(80), model="opus")
    reply = await ledger.reserve("r2", "ann", tokens(30), model="opus")
    assert_denied(reply, "budget_exhausted", budget="z-for-opus")


async def test_all_budgets_hold_or_none_does(ledger, clock):
    await ledger.grant("org", 50)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 100)
    await ledger.grant("ann", 10 * CENT, "money", unit="usd_nano")
    assert_denied(await ledger.reserve("r1", "ann", {**tokens(60), **usd(CENT)}), "exceeds_limit")
    for name, scope in (("cap", "ann"), ("money", "ann"), ("cap", "org")):
        assert (await ledger.window("ann", name, scope))["reserved"] == 0


async def test_a_limit_of_zero_denies_and_null_is_unlimited(ledger, clock):
    await ledger.grant("ann", 0)
    assert_denied(await ledger.reserve("r1", "ann", tokens(1)), "exceeds_limit", limit=0)
    await ledger.grant("bob", None)
    reply = await ledger.reserve("r1", "bob", tokens(2**53 - 1))
    assert reply["lines"][0]["available"] is None


async def test_zero_is_authorized_where_nothing_is_available(ledger, clock):
    await ledger.grant("ann", 0)
    reply = await ledger.reserve("r1", "ann", tokens(0))
    assert (reply["decision"], reply["lines"][0]["amount"]) == ("authorized", 0)


async def test_a_plans_budget_denies_like_an_own_one(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100))
    await ledger.put_account("ann", plan_id="free")
    assert_denied(await ledger.reserve("r1", "ann", tokens(101)), "exceeds_limit", scope="ann")


async def test_nothing_is_affordable_where_another_budget_is_full(ledger):
    await ledger.grant("ann", limit=100, name="first")
    await ledger.put_budget("ann", "second", budget(limit=1, unit="requests"))
    await ledger.reserve("r1", "ann", tokens(10))

    denied = await ledger.reserve("r2", "ann", tokens(95))

    assert (denied["budget"], denied["available"]) == ("first", 90)
    assert denied["affordable"] is None


async def test_zero_is_authorized_where_less_than_nothing_is_available(ledger):
    await ledger.grant("ann")
    await ledger.charge("c1", "ann", tokens(1500), record=True)
    assert (await ledger.figures("ann")).available == -500
    assert (await ledger.reserve("r1", "ann", tokens(0)))["decision"] == "authorized"
    assert_denied(await ledger.reserve("r2", "ann", tokens(1)), "budget_exhausted", available=-500)
