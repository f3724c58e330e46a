"""Another plan at once: what is spent in a window goes on counting where the new plan counts the same."""

import pytest

from tests.support.checks import assert_denied, assert_problem
from tests.support.money import DAY, MONTH, budget, fixed, tokens
from tests.support.session import Figures


async def switch(ledger, plan_id, account_id="ann", actor=None, **body):
    return await ledger.call(
        "switch_plan", account_id=account_id, body={"plan_id": plan_id, **body}, actor=actor
    )


@pytest.fixture
async def spent(ledger, clock):
    """ann has spent 600 of free's 1000 tokens a month, and holds 100; pro has 5000 a month."""
    await ledger.put_plan("free", budget("cap", 1000, window=MONTH))
    await ledger.put_plan("pro", budget("cap", 5000, window=MONTH))
    await ledger.put_account("ann", plan_id="free")
    await ledger.charge("c1", "ann", tokens(600))
    await ledger.reserve("r1", "ann", tokens(100))
    return ledger


async def test_the_window_goes_on_under_the_new_limit(spent):
    reply = await switch(spent, "pro")
    assert (reply["plan_id"], reply["account_id"]) == ("pro", "ann")
    assert await spent.figures("ann") == Figures(600, 100, 4300)
    assert await spent.count("budget_window") == 1


async def test_switching_forth_and_back_forgets_nothing(spent):
    await switch(spent, "pro")
    await spent.charge("c2", "ann", tokens(2000))
    await switch(spent, "free")
    assert await spent.figures("ann") == Figures(2600, 100, -1700)
    assert_denied(await spent.reserve("r2", "ann", tokens(1)), "budget_exhausted", available=-1700)


async def test_a_hold_made_under_the_old_plan_is_settled_in_the_window_that_goes_on(spent):
    await switch(spent, "pro")
    await spent.settle("r1", tokens(40))
    assert await spent.figures("ann") == Figures(640, 0, 4360)


async def test_the_window_is_taken_up_by_a_recorded_change_of_limit(spent):
    await switch(spent, "pro", actor="key_carla", reason="upgrade")
    row = await spent.connection.fetchrow(
        "select amounts, actor, reason from preauth.usage_event where kind = 'limit_changed'"
    )
    assert row["amounts"] == {
        "before": 1000, "after": 5000, "from": "plan:free/cap", "to": "plan:pro/cap",
    }  # fmt: skip
    assert (row["actor"], row["reason"]) == ("key_carla", "upgrade")


async def test_the_next_window_is_the_new_plans(spent, clock):
    await switch(spent, "pro")
    clock.set("2026-10-01T00:00:00Z")
    await spent.charge("c2", "ann", tokens(4900))
    assert await spent.figures("ann") == Figures(4900, 0, 100)


@pytest.mark.parametrize(
    "other",
    [
        budget("cap", 5000, window=DAY),
        budget("cap", 5000, window=MONTH, unit="requests"),
        budget("cap", 5000, window=MONTH, model="m1"),
        budget("tokens", 5000, window=MONTH),
    ],
    ids=["another window", "another unit", "another model", "another name"],
)
async def test_a_budget_that_counts_something_else_begins_at_nothing(spent, other):
    await spent.put_plan("other", other)
    await switch(spent, "other")
    (window,) = await spent.windows("ann")
    assert (window["settled"], window["reserved"], window["limit"]) == (0, 0, 5000)


async def test_a_budget_that_the_new_plan_does_not_have_applies_no_more(spent):
    await spent.put_plan("bare", budget("requests", 5, unit="requests"))
    await switch(spent, "bare")
    assert [w["budget"] for w in await spent.windows("ann")] == ["requests"]
    await spent.settle("r1", tokens(90))
    kept = await spent.connection.fetchrow("select settled, reserved from preauth.budget_window")
    assert tuple(kept) == (690, 0)


async def test_the_spend_is_there_again_after_a_plan_without_that_budget(spent):
    await spent.put_plan("bare", budget("requests", 5, unit="requests"))
    await switch(spent, "bare")
    await switch(spent, "pro")
    assert await spent.figures("ann") == Figures(600, 100, 4300)


async def test_an_own_budget_stays_and_takes_the_spend_of_the_plans_with_it(spent):
    await spent.put_budget("ann", "cap", budget(limit=2000, window=MONTH))
    assert await spent.figures("ann") == Figures(600, 100, 1300)
    await switch(spent, "pro")
    assert await spent.figures("ann") == Figures(600, 100, 1300)


async def test_when_an_own_budget_is_retired_the_plans_goes_on_where_it_stood(spent):
    await spent.put_budget("ann", "cap", budget(limit=2000, window=MONTH))
    await spent.charge("c2", "ann", tokens(100))
    await spent.call("delete_budget", account_id="ann", name="cap")
    assert await spent.figures("ann") == Figures(700, 100, 200)


async def test_an_own_budget_for_the_next_window_leaves_the_limit_of_this_one(spent, clock):
    body = budget(limit=2000, window=MONTH, apply="next_window")
    await spent.put_budget("ann", "cap", body)
    assert await spent.figures("ann") == Figures(600, 100, 300)
    clock.set("2026-10-01T00:00:00Z")
    assert (await spent.window("ann"))["limit"] == 2000


async def test_an_account_put_under_another_plan_is_switched_the_same_way(spent):
    await spent.put_account("ann", plan_id="pro")
    assert await spent.figures("ann") == Figures(600, 100, 4300)


async def test_other_accounts_stay_where_they_are(spent):
    await spent.put_account("bob", plan_id="free")
    await spent.charge("b1", "bob", tokens(10))
    await switch(spent, "pro")
    assert await spent.figures("bob") == Figures(10, 0, 990)


async def test_a_fixed_window_goes_on_until_its_own_end(ledger, clock):
    for plan, limit in (("slow", 5), ("fast", 60)):
        await ledger.put_plan(plan, budget("rpm", limit, unit="requests", window=fixed(60)))
    await ledger.put_account("ann", plan_id="slow")
    await ledger.reserve("r1", "ann", {"requests": 5})
    clock.advance(seconds=30)
    await switch(ledger, "fast")
    window = await ledger.window("ann", "rpm")
    assert (window["reserved"], window["limit"]) == (5, 60)
    assert window["ends_at"] == "2026-09-14T12:01:00.000000Z"


async def test_other_enforcement_and_overdraft_apply_to_the_window_that_goes_on(spent):
    await spent.put_plan(
        "soft", budget("cap", 1000, window=MONTH, enforcement="soft", overdraft_amount=500)
    )
    await switch(spent, "soft")
    assert (await spent.reserve("r2", "ann", tokens(700)))["over_limit"] is True


async def test_the_change_is_in_the_log_once(spent):
    await switch(spent, "pro", actor="key_carla", reason="upgrade")
    await switch(spent, "pro", actor="key_carla", reason="again")
    rows = await spent.connection.fetch(
        "select before ->> 'plan_id', after ->> 'plan_id', reason from preauth.change_log"
        " where subject = 'account' and actor = 'key_carla'"
    )
    assert [tuple(row) for row in rows] == [("free", "pro", "upgrade")]


async def test_the_same_plan_again_moves_nothing(spent):
    before = await spent.movements()
    await switch(spent, "free")
    assert await spent.movements() == before


async def test_an_unknown_plan_or_account_is_refused(spent):
    before = await spent.contents()
    assert_problem(await switch(spent, "gold"), 422, "reference_unknown")
    assert_problem(await switch(spent, "pro", "nobody"), 404, "account_unknown")
    assert await spent.contents() == before


BAD = {
    "plan_id": [{}, {"plan_id": None}, {"plan_id": 7}, {"plan_id": "a b"}],
    "apply": [{"plan_id": "pro", "apply": "later"}],
    "at": [
        {"plan_id": "pro", "at": "2026-09-14T12:00:00Z"},
        {"plan_id": "pro", "at": "2026-10-01"},
        {"plan_id": "pro", "at": "2026-13-01T00:00:00Z"},
        {"plan_id": "pro", "at": "2026-10-01T00:00:00"},
        {"plan_id": "pro", "at": "2026-10-01T00:00:00Z", "apply": "now"},
    ],
    "reason": [{"plan_id": "pro", "reason": ""}],
    "limit": [{"plan_id": "pro", "limit": 1}],
}


@pytest.mark.parametrize(("field", "body"), [(f, b) for f, bodies in BAD.items() for b in bodies])
async def test_a_malformed_change_names_the_field_and_changes_nothing(spent, field, body):
    before = await spent.contents()
    reply = await spent.call("switch_plan", account_id="ann", body=body)
    assert_problem(reply, 400, "malformed")
    assert [e["path"] for e in reply["errors"]] == [field]
    assert await spent.contents() == before
