"""An account's own budget: row 19, limits that change while a window runs."""

import pytest

from tests.support.checks import assert_denied, assert_problem
from tests.support.money import CENT, DAY, DOLLAR, MONTH, budget, tokens
from tests.support.session import Figures

MONEY = {"unit": "usd_nano", "window": MONTH}


async def put(ledger, limit, **more):
    return await ledger.put_budget("ann", "cap", budget(limit=limit, window=DAY, **more))


@pytest.fixture
async def spent(ledger, clock):
    """Of ann's 1000 tokens a day 600 are spent and 100 held by r1."""
    await ledger.grant("ann", window=DAY)
    await ledger.charge("c1", "ann", tokens(600))
    await ledger.reserve("r1", "ann", tokens(100))
    return ledger


async def test_a_budget_is_returned_as_it_is_stored(ledger, clock):
    await ledger.put_account("ann")
    reply = await put(ledger, 5, model="opus", enforcement="soft", overdraft_amount=2)
    assert reply["name"] == "cap"
    assert (reply["unit"], reply["limit_amount"], reply["model"]) == ("tokens", 5, "opus")
    assert (reply["enforcement"], reply["overdraft_amount"]) == ("soft", 2)


async def test_a_limit_raised_now_is_available_now(spent):
    await put(spent, 2000)
    assert await spent.figures("ann") == Figures(600, 100, 1300)


async def test_a_limit_lowered_below_what_is_spent_makes_available_negative_and_denies(spent):
    await put(spent, 500, apply="now")
    assert await spent.figures("ann") == Figures(600, 100, -200)
    assert (await spent.reserve("r2", "ann", tokens(1)))["decision"] == "denied"
    await spent.settle("r1", tokens(50))
    assert await spent.figures("ann") == Figures(650, 0, -150)


async def test_the_current_window_is_moved_by_a_recorded_adjustment(spent):
    await put(spent, 2000)
    assert await spent.count("usage_event", "kind = 'limit_changed'") == 1


async def test_a_limit_for_the_next_window_leaves_this_one(spent, clock):
    await put(spent, 2000, apply="next_window")
    assert await spent.figures("ann") == Figures(600, 100, 300)
    assert_denied(await spent.reserve("r2", "ann", tokens(301)), "budget_exhausted", limit=1000)
    clock.set("2026-09-15T00:00:00Z")
    assert await spent.figures("ann") == Figures(0, 0, 2000)
    assert (await spent.reserve("r3", "ann", tokens(2000)))["decision"] == "authorized"


async def test_a_limit_lifted_now_is_unlimited_now(spent):
    await put(spent, None)
    assert (await spent.window("ann"))["available"] is None
    assert (await spent.reserve("r2", "ann", tokens(10**9)))["decision"] == "authorized"


async def test_a_limit_set_on_an_unlimited_budget_counts_what_was_spent_before(ledger, clock):
    await ledger.grant("ann", None, window=DAY)
    await ledger.charge("c1", "ann", tokens(600))
    await put(ledger, 1000)
    assert await ledger.figures("ann") == Figures(600, 0, 400)


async def test_the_figures_of_the_field_report_on_changed_limits(ledger, clock):
    await ledger.grant("ann", 10 * DOLLAR, **MONEY)
    await ledger.charge("c1", "ann", {"usd_nano": 9 * DOLLAR})
    await ledger.reserve("r1", "ann", {"usd_nano": DOLLAR})
    await ledger.grant("ann", 20 * DOLLAR, **MONEY)
    assert (await ledger.window("ann"))["available"] == 10 * DOLLAR
    await ledger.grant("ann", 5 * DOLLAR, **MONEY)
    assert (await ledger.window("ann"))["available"] == -5 * DOLLAR
    assert (await ledger.reserve("r2", "ann", {"usd_nano": CENT}))["decision"] == "denied"


async def test_a_new_budget_starts_from_nothing_and_leaves_the_others(ledger, clock):
    await ledger.grant("ann", 10_000, "ever")
    await ledger.charge("c1", "ann", tokens(600))
    await ledger.grant("ann", 1000, "monthly", window=MONTH)
    assert await ledger.figures("ann", "monthly") == Figures(0, 0, 1000)
    assert await ledger.figures("ann", "ever") == Figures(600, 0, 9400)


async def test_the_same_budget_again_is_no_change(spent):
    before, logged = await spent.movements(), await spent.count("change_log")
    await put(spent, 1000)
    assert await spent.movements() == before
    assert await spent.count("change_log") == logged


async def test_an_own_budget_overrides_the_plans_and_a_raise_counts(ledger, clock):
    await ledger.put_plan("free", budget("cap", 10))
    await ledger.put_account("ann", plan_id="free")
    await ledger.put_budget("ann", "cap", budget(limit=50))
    assert (await ledger.reserve("r1", "ann", tokens(50)))["decision"] == "authorized"


async def test_other_enforcement_takes_effect_at_once(spent):
    await put(spent, 1000, enforcement="observe")
    assert (await spent.reserve("r2", "ann", tokens(5000)))["decision"] == "authorized"


async def test_who_changed_it_and_why_is_recorded(spent):
    body = budget(limit=2000, window=DAY, reason="asked for more")
    await spent.call("put_budget", account_id="ann", name="cap", body=body, actor="key_carla")
    row = await spent.connection.fetchrow(
        "select * from preauth.change_log where actor = 'key_carla'"
    )
    assert row["reason"] == "asked for more"
    assert (row["before"]["limit_amount"], row["after"]["limit_amount"]) == (1000, 2000)


async def test_an_unknown_account_is_a_404(ledger, clock):
    assert_problem(await ledger.put_budget("nobody", "cap", budget()), 404, "account_unknown")


async def test_malformed_budgets_are_refused_and_nothing_is_written(spent):
    before = await spent.contents()
    for name, body in (
        ("Cap", budget()),
        ("cap", {}),
        ("cap", budget(limit="7")),
        ("cap", budget(limit=7.0)),
        ("cap", budget(colour="red")),
        ("cap", budget(apply="soon")),
        ("cap", {**budget(), "name": "other"}),
        ("cap", {"unit": "tokens", "window": DAY}),
    ):
        assert_problem(await spent.put_budget("ann", name, body), 400, "malformed")
    assert await spent.contents() == before


@pytest.mark.parametrize("body", [7, [], "text", None], ids=repr)
async def test_a_body_that_is_no_object_is_malformed_and_changes_nothing(spent, body):
    before = await spent.contents()
    assert_problem(await spent.put_budget("ann", "cap", body), 400, "malformed")
    assert await spent.contents() == before


async def test_a_budget_is_shown_with_its_defaults_before_it_is_put(ledger, clock):
    shown = await ledger.call("preview_budget", body=budget("cap", 700, window=DAY))
    await ledger.put_account("ann")
    assert await ledger.put_budget("ann", "cap", budget(limit=700, window=DAY)) == shown
    assert_problem(await ledger.call("preview_budget", body={"unit": "tokens"}), 400, "malformed")
