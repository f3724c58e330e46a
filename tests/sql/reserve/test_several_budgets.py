"""Several budgets on one account and its ancestors: all hold or none does."""

from tests.support.checks import assert_denied
from tests.support.money import CENT, DAY, DOLLAR, MONTH, budget, rolling, tokens, usd
from tests.support.session import Figures

RPM = {"unit": "requests", "window": rolling(60, 60)}


async def company(ledger):
    """An organisation with a month and a rate; below it a person with a plan and an own budget."""
    await ledger.grant("org", 100 * DOLLAR, "org-month", unit="usd_nano", window=MONTH)
    await ledger.grant("org", 5, "org-rpm", **RPM)
    await ledger.put_plan(
        "pro",
        budget("daily", 2 * DOLLAR, "usd_nano", DAY),
        budget("monthly", 20 * DOLLAR, "usd_nano", MONTH),
        budget("tokens", 10_000, "tokens", DAY),
        budget("opus", 1_000, "tokens", DAY, model="opus"),
        budget("rpm", 3, **RPM),
    )
    await ledger.put_account("ann", parent_id="org", plan_id="pro")


async def levels(ledger, account_id="ann"):
    return {
        w["budget"]: Figures(w["settled"], w["reserved"], w["available"])
        for w in await ledger.windows(account_id)
    }


async def test_a_spend_counts_on_every_budget_that_applies(ledger, clock):
    await company(ledger)
    reply = await ledger.charge("c", "ann", {**tokens(700), **usd(30 * CENT)}, model="opus")
    assert [(line["budget"], line["scope"]) for line in reply["lines"]] == [
        ("opus", "ann"), ("daily", "ann"), ("monthly", "ann"), ("rpm", "ann"), ("tokens", "ann"),
        ("org-month", "org"), ("org-rpm", "org"),
    ]  # fmt: skip
    found = await levels(ledger)
    assert {name: f.settled for name, f in found.items()} == {
        "opus": 700, "daily": 30 * CENT, "monthly": 30 * CENT, "tokens": 700, "rpm": 1,
        "org-month": 30 * CENT, "org-rpm": 1,
    }  # fmt: skip


async def test_another_model_leaves_the_models_budget_alone(ledger, clock):
    await company(ledger)
    await ledger.charge("c", "ann", {**tokens(5000), **usd(30 * CENT)}, model="haiku")
    found = await levels(ledger)
    assert (found["opus"].settled, found["tokens"].settled) == (0, 5000)


async def test_the_first_budget_in_the_order_of_checking_denies_and_none_holds(ledger, clock):
    await company(ledger)
    before = await levels(ledger)
    reply = await ledger.reserve("r", "ann", {**tokens(1001), **usd(3 * DOLLAR)}, model="opus")
    assert_denied(reply, "exceeds_limit", budget="opus", scope="ann", unit="tokens")
    reply = await ledger.reserve("s", "ann", {**tokens(1000), **usd(3 * DOLLAR)}, model="opus")
    assert_denied(reply, "exceeds_limit", budget="daily", unit="usd_nano")
    assert await levels(ledger) == before


async def test_a_full_rate_denies_and_leaves_the_money_alone(ledger, clock):
    """A16, with a rolling minute of requests."""
    await company(ledger)
    for n in range(3):
        await ledger.charge(f"c{n}", "ann", {**tokens(1), **usd(CENT)})
    reply = await ledger.reserve("r", "ann", {**tokens(1), **usd(CENT)})
    assert_denied(reply, "budget_exhausted", budget="rpm", unit="requests", retry_after_ms=61_000)
    assert (await levels(ledger))["daily"] == Figures(3 * CENT, 0, 2 * DOLLAR - 3 * CENT)


async def test_the_organisations_rate_is_shared_by_its_people(ledger, clock):
    await company(ledger)
    await ledger.put_account("bob", parent_id="org", plan_id="pro")
    for n in range(5):
        await ledger.charge(f"c{n}", "ann" if n < 3 else "bob", {**tokens(1), **usd(CENT)})
    reply = await ledger.reserve("r", "bob", {**tokens(1), **usd(CENT)})
    assert_denied(reply, "budget_exhausted", budget="org-rpm", scope="org")


async def test_an_own_budget_replaces_the_plans_of_its_name_whatever_it_counts(ledger, clock):
    await company(ledger)
    await ledger.grant("ann", 50, "daily", unit="tokens", window=MONTH)
    found = await ledger.windows("ann")
    (daily,) = [w for w in found if w["budget"] == "daily"]
    assert (daily["unit"], daily["limit"], daily["window"]) == ("tokens", 50, "2026-09")
    assert_denied(await ledger.reserve("r", "ann", {**tokens(51), **usd(1)}), "exceeds_limit")


async def test_the_plans_budget_applies_again_when_the_own_one_is_retired(ledger, clock):
    await company(ledger)
    await ledger.charge("c", "ann", {**tokens(1), **usd(DOLLAR)})
    await ledger.grant("ann", 50, "daily", unit="tokens", window=MONTH)
    await ledger.call("delete_budget", account_id="ann", name="daily")
    assert (await levels(ledger))["daily"] == Figures(DOLLAR, 0, DOLLAR)


async def test_the_next_day_is_new_and_the_month_goes_on(ledger, clock):
    await company(ledger)
    await ledger.charge("c", "ann", {**tokens(1), **usd(2 * DOLLAR)})
    reply = await ledger.reserve("r", "ann", {**tokens(1), **usd(1)})
    assert_denied(reply, "budget_exhausted", budget="daily", retry_after_ms=12 * 3600 * 1000)
    clock.set("2026-09-15T00:00:00Z")
    found = await levels(ledger)
    assert (found["daily"].settled, found["monthly"].settled) == (0, 2 * DOLLAR)


async def test_a_soft_budget_is_overdrawn_while_a_hard_one_above_it_denies(ledger, clock):
    await ledger.grant("org", 130)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 100, enforcement="soft", overdraft_amount=100, thresholds=[100])
    over = await ledger.charge("c", "ann", tokens(130))
    assert (over["over_limit"], over["lines"][0]["available"]) == (True, -30)
    assert await ledger.count("outbox") == 1
    assert_denied(await ledger.charge("d", "ann", tokens(1)), "budget_exhausted", scope="org")


async def test_a_rolling_soft_budget_comes_back_from_its_overdraft(ledger, clock):
    await ledger.grant(
        "ann", 100, enforcement="soft", overdraft_amount=50, window=rolling(60, 6)
    )  # fmt: skip
    await ledger.charge("c", "ann", tokens(150))
    reply = await ledger.reserve("r", "ann", tokens(1))
    assert_denied(reply, "budget_exhausted", available=-50, retry_after_ms=70_000)
    clock.advance(seconds=70)
    assert not (await ledger.reserve("s", "ann", tokens(100)))["over_limit"]


async def test_a_rolling_observing_budget_counts_what_it_would_have_denied(ledger, clock):
    await ledger.grant(
        "ann", 100, enforcement="observe", window=rolling(60, 6), thresholds=[100]
    )  # fmt: skip
    for n in range(3):
        assert (await ledger.charge(f"c{n}", "ann", tokens(90)))["decision"] == "authorized"
    assert await ledger.figures("ann") == Figures(270, 0, -170)
    assert await ledger.count("outbox") == 1


async def test_what_was_kept_of_yesterday_decides_nothing_today(ledger, clock):
    """Which windows apply is kept from the first request on: until the first of them ends."""
    await ledger.grant("ann", 100, window=DAY)
    for n in range(2):
        await ledger.charge(f"c{n}", "ann", tokens(50))
    clock.set("2026-09-15T00:00:00Z")
    reply = await ledger.charge("c2", "ann", tokens(100))
    assert [line["window"] for line in reply["lines"]] == ["2026-09-15"]
