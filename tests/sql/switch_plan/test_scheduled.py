"""A change of plan to come: at the end of the current windows, or at an instant, with no job."""

import pytest

from tests.support.checks import assert_denied, code_of
from tests.support.money import DAY, LIFETIME, MONTH, budget, fixed, tokens
from tests.support.session import Figures

OCTOBER = "2026-10-01T00:00:00Z"


async def switch(ledger, plan_id, **body):
    return await ledger.call("switch_plan", account_id="ann", body={"plan_id": plan_id, **body})


@pytest.fixture(params=[False, True], ids=["nobody writes it down", "the job writes it down"])
def job(request):
    """Whether preauth_api.apply_due runs when the time has come: the figures are the same."""
    return request.param


async def come(ledger, clock, instant, job):
    clock.set(instant)
    if job:
        assert await ledger.call("apply_due", max_count=10) == 1


@pytest.fixture
async def pro(ledger, clock):
    """ann has spent 600 of pro's 1000 tokens a month, 50 of its 80 a day; free has 100 a month."""
    await ledger.put_plan(
        "pro",
        budget("cap", 1000, window=MONTH),
        budget("daily", 800, window=DAY),
        budget("rpm", 60, unit="requests", window=fixed(60)),
    )
    await ledger.put_plan(
        "free", budget("cap", 100, window=MONTH), budget("holds", 5, unit="requests")
    )
    await ledger.put_account("ann", plan_id="pro")
    await ledger.charge("c1", "ann", {"tokens": 600, "requests": 1})
    return ledger


async def test_until_the_longest_window_ends_the_old_plan_applies_whole(pro, clock):
    reply = await switch(pro, "free", apply="next_window")
    assert reply["plan_id"] == "pro"
    assert (reply["next_plan_id"], reply["plan_changes_at"]) == (
        "free", "2026-10-01T00:00:00.000000Z",
    )  # fmt: skip
    clock.set("2026-09-30T23:59:59.999999Z")
    assert {w["budget"]: w["limit"] for w in await pro.windows("ann")} == {
        "cap": 1000, "daily": 800, "rpm": 60,
    }  # fmt: skip
    assert (await pro.charge("c2", "ann", {"tokens": 400, "requests": 1}))["decision"] == (
        "authorized"
    )


async def test_from_then_on_the_new_plan_applies(pro, clock, job):
    await switch(pro, "free", apply="next_window")
    await come(pro, clock, OCTOBER, job)
    assert {w["budget"]: w["limit"] for w in await pro.windows("ann")} == {
        "cap": 100, "holds": 5,
    }  # fmt: skip
    denied = await pro.reserve("r2", "ann", {"tokens": 101, "requests": 1})
    assert_denied(denied, "exceeds_limit", limit=100, window="2026-10")
    await pro.charge("c3", "ann", {"tokens": 100, "requests": 1})
    assert await pro.figures("ann") == Figures(100, 0, 0)


async def test_written_down_later_nothing_is_lost(pro, clock):
    await switch(pro, "free", apply="next_window", reason="downgrade")
    clock.set(OCTOBER)
    await pro.charge("c3", "ann", {"tokens": 70, "requests": 1})
    await pro.reserve("r3", "ann", {"tokens": 20, "requests": 1})
    assert await pro.call("apply_due", max_count=10) == 1
    assert await pro.call("apply_due", max_count=10) == 0
    assert await pro.figures("ann") == Figures(70, 20, 10)
    assert (await pro.call("account", account_id="ann"))["plan_id"] == "free"
    row = await pro.connection.fetchrow(
        "select after, reason from preauth.change_log where actor = 'schedule'"
    )
    assert row["reason"] == "downgrade"
    assert row["after"]["plan_id"] == "free"
    assert "next_plan_id" not in row["after"]


@pytest.fixture
async def trial(ledger, clock):
    """A trial that ends on the 20th at 08:00, of whose 1000 tokens a month ann has spent 300."""
    await ledger.put_plan("trial", budget("cap", 1000, window=MONTH))
    await ledger.put_plan("free", budget("cap", 400, window=MONTH))
    await ledger.put_account("ann", plan_id="trial")
    await switch(ledger, "free", at="2026-09-20T08:00:00Z", reason="the trial ends")
    await ledger.charge("c1", "ann", tokens(300))
    return ledger


async def test_a_trial_counts_until_its_very_end(trial, clock):
    clock.set("2026-09-20T07:59:59.999999Z")
    assert await trial.figures("ann") == Figures(300, 0, 700)


async def test_when_a_trial_ends_what_was_spent_in_the_month_counts_under_the_new_limit(
    trial, clock, job
):
    await come(trial, clock, "2026-09-20T08:00:00Z", job)
    assert await trial.figures("ann") == Figures(300, 0, 100)
    assert_denied(await trial.reserve("r1", "ann", tokens(101)), "budget_exhausted", limit=400)
    assert (await trial.reserve("r2", "ann", tokens(100)))["lines"][0]["available"] == 0


async def test_a_decision_that_was_cached_before_ends_with_the_trial(trial, clock):
    await trial.reserve("r1", "ann", tokens(1))
    clock.set("2026-09-20T08:00:00Z")
    assert_denied(await trial.reserve("r2", "ann", tokens(100)), "budget_exhausted", available=99)


async def test_any_change_of_the_account_writes_it_down_first(trial, clock):
    clock.set("2026-09-20T08:00:00Z")
    assert (await trial.put_account("ann", status="suspended"))["plan_id"] == "free"
    assert await trial.call("apply_due", max_count=10) == 0


async def test_a_change_at_once_forgets_the_one_to_come(trial, clock):
    reply = await switch(trial, "trial")
    assert "next_plan_id" not in reply
    clock.set("2026-09-20T08:00:00Z")
    assert await trial.figures("ann") == Figures(300, 0, 700)


async def test_another_change_to_come_replaces_it(trial, clock):
    await trial.put_plan("pro", budget("cap", 9000, window=MONTH))
    await switch(trial, "pro", at="2026-09-21T00:00:00Z")
    clock.set("2026-09-20T08:00:00Z")
    assert (await trial.window("ann"))["limit"] == 1000
    clock.set("2026-09-21T00:00:00Z")
    assert (await trial.window("ann"))["limit"] == 9000


async def test_where_no_window_ever_ends_the_plan_changes_at_once_and_the_limit_stays(
    ledger, clock
):
    await ledger.put_plan("a", budget("cap", 1000, window=LIFETIME))
    await ledger.put_plan("b", budget("cap", 50, window=LIFETIME))
    await ledger.put_account("ann", plan_id="a")
    await ledger.charge("c1", "ann", tokens(300))
    assert (await switch(ledger, "b", apply="next_window"))["plan_id"] == "b"
    assert await ledger.figures("ann") == Figures(300, 0, 700)


async def test_a_window_nobody_has_spent_in_yet_ends_all_the_same(ledger, clock):
    await ledger.put_plan("a", budget("cap", 1000, window=DAY))
    await ledger.put_plan("b", budget("cap", 50, window=DAY))
    await ledger.put_account("ann", plan_id="a", time_zone="Asia/Tokyo")
    reply = await switch(ledger, "b", apply="next_window")
    assert reply["plan_changes_at"] == "2026-09-14T15:00:00.000000Z"


async def test_a_parents_change_to_come_reaches_those_below(ledger, clock, job):
    await ledger.put_plan("big", budget("cap", 1000, window=MONTH))
    await ledger.put_plan("small", budget("cap", 100, window=MONTH))
    await ledger.put_account("ann", plan_id="big")
    await ledger.put_account("kid", parent_id="ann")
    await switch(ledger, "small", at="2026-09-20T08:00:00Z")
    await ledger.charge("c1", "kid", tokens(90))
    await come(ledger, clock, "2026-09-20T08:00:00Z", job)
    assert_denied(await ledger.charge("c2", "kid", tokens(11)), "budget_exhausted", scope="ann")


@pytest.mark.parametrize(("old", "new"), [("charge", "reject"), ("reject", "charge")])
async def test_a_settlement_above_its_hold_goes_by_the_plan_that_has_come(
    ledger, clock, job, old, new
):
    await ledger.put_plan("before", budget("cap", 1000, window=MONTH, overage=old))
    await ledger.put_plan("after", budget("cap", 1000, window=MONTH, overage=new))
    await ledger.put_account("ann", plan_id="before")
    await ledger.put_account("kid", parent_id="ann")
    await switch(ledger, "after", at="2026-09-20T08:00:00Z")
    await ledger.reserve("r", "kid", tokens(100))
    await come(ledger, clock, "2026-09-20T08:00:00Z", job)
    reply = await ledger.settle("r", tokens(150))
    outcome = code_of(reply) if "type" in reply else reply["state"]
    assert outcome == {"charge": "settled", "reject": "settlement_exceeds_hold"}[new]


async def test_the_plan_is_changed_after_the_switch_has_come_not_before(trial, clock, job):
    await come(trial, clock, "2026-09-20T08:00:00Z", job)
    await trial.put_plan("free", budget("cap", 900, window=MONTH), apply="next_window")
    assert await trial.figures("ann") == Figures(300, 0, 100)
    assert await trial.call("apply_due", max_count=10) == 0
    assert await trial.figures("ann") == Figures(300, 0, 100)
    clock.set(OCTOBER)
    assert (await trial.window("ann"))["limit"] == 900


async def test_the_plan_that_was_left_is_changed_after_the_switch_has_come(trial, clock, job):
    """The window counts for the new plan by then: the old one's thresholds do not reach it."""
    await come(trial, clock, "2026-09-20T08:00:00Z", job)
    await trial.put_plan("trial", budget("cap", 10, window=MONTH, thresholds=[80]))
    assert await trial.figures("ann") == Figures(300, 0, 100)
    assert await trial.connection.fetchval("select count(*) from preauth.outbox") == 0


@pytest.mark.parametrize("at", ["2026-09-14T22:00:00Z", "2026-09-15T01:00:00Z"])
async def test_a_window_that_has_ended_keeps_the_limit_the_new_plan_had_then(
    ledger, clock, job, at
):
    """What it overspent under that limit is carried, however large the plan's is by now."""
    carry = {"max": 50, "overspend": True}
    await ledger.put_plan("big", budget("cap", 200, window=DAY, rollover=carry))
    await ledger.put_plan("small", budget("cap", 100, window=DAY, rollover=carry))
    await ledger.put_account("ann", plan_id="big")
    await switch(ledger, "small", at="2026-09-14T22:00:00Z")
    await ledger.charge("c1", "ann", tokens(190))
    await come(ledger, clock, at, job)
    clock.set("2026-09-15T01:00:00Z")
    await ledger.put_plan("small", budget("cap", 200, window=DAY, rollover=carry))
    await ledger.charge("c2", "ann", tokens(1))
    assert await ledger.figures("ann") == Figures(91, 0, 109)
    limits = "select limit_amount from preauth.budget_window order by starts_at"
    await ledger.call("apply_due", max_count=10)
    assert [row[0] for row in await ledger.connection.fetch(limits)] == [100, 200]
