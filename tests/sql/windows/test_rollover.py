"""What a window leaves is added to the next; with overspend, so is what was spent too much."""

import asyncio

import pytest

from tests.support.checks import assert_denied
from tests.support.money import DAY, HOUR, MONTH, budget, fixed, tokens
from tests.support.session import Figures
from tests.support.waits import until

PERIODS_WORKED_OUT = (
    "select calls from pg_stat_xact_user_functions"
    " where schemaname = 'preauth' and funcname = '_window_bounds'"
)


async def grant(ledger, limit=100, most=150, window=MONTH, **rollover):
    await ledger.grant("ann", limit, window=window, rollover={"max": most, **rollover})


async def spend(ledger, request_id, amount, **more):
    await ledger.charge(request_id, "ann", tokens(amount), **more)


async def test_what_is_left_is_added_to_the_next_limit(ledger, clock):
    await grant(ledger)
    await spend(ledger, "c1", 70)
    clock.set("2026-10-01T00:00:00Z")
    await spend(ledger, "c2", 110)
    assert await ledger.figures("ann") == Figures(110, 0, 20)
    assert (await ledger.window("ann"))["limit"] == 130


async def test_no_more_than_the_maximum_is_added(ledger, clock):
    await grant(ledger, most=20)
    await spend(ledger, "c1", 10)
    clock.set("2026-10-01T00:00:00Z")
    assert (await ledger.window("ann"))["limit"] == 120


async def test_a_maximum_of_0_adds_nothing(ledger, clock):
    await grant(ledger, most=0)
    await spend(ledger, "c1", 10)
    clock.set("2026-10-01T00:00:00Z")
    assert (await ledger.window("ann"))["limit"] == 100


async def test_what_rolled_over_rolls_on(ledger, clock):
    await grant(ledger)
    await spend(ledger, "c1", 70)
    clock.set("2026-10-01T00:00:00Z")
    await spend(ledger, "c2", 10)
    clock.set("2026-11-01T00:00:00Z")
    assert (await ledger.window("ann"))["limit"] == 100 + 120


@pytest.mark.parametrize(("months", "limit"), [(1, 130), (2, 230), (3, 250), (9, 250)])
async def test_periods_in_which_nothing_was_spent_leave_all_they_have(ledger, clock, months, limit):
    await grant(ledger)
    await spend(ledger, "c1", 70)
    clock.set(f"202{6 + (8 + months) // 12}-{(8 + months) % 12 + 1:02d}-01T00:00:00Z")
    assert (await ledger.window("ann"))["limit"] == limit
    await spend(ledger, "c2", 1)
    assert (await ledger.window("ann"))["limit"] == limit


async def test_the_first_window_has_the_bare_limit(ledger, clock):
    await grant(ledger)
    assert (await ledger.window("ann"))["limit"] == 100
    await spend(ledger, "c1", 1)
    assert (await ledger.window("ann"))["limit"] == 100


async def test_what_is_held_when_the_window_ends_is_not_left(ledger, clock):
    await grant(ledger)
    await ledger.reserve("r1", "ann", tokens(60))
    clock.set("2026-10-01T00:00:00Z")
    await spend(ledger, "c2", 1)
    await ledger.release("r1")
    assert (await ledger.window("ann"))["limit"] == 140


async def test_overspend_is_forgotten_unless_asked_for(ledger, clock):
    await grant(ledger)
    await spend(ledger, "c1", 130, record=True)
    clock.set("2026-10-01T00:00:00Z")
    await spend(ledger, "c2", 1)
    assert await ledger.figures("ann") == Figures(1, 0, 99)


async def test_overspend_asked_for_counts_in_the_next_window_as_an_adjustment(ledger, clock):
    await grant(ledger, overspend=True)
    await spend(ledger, "c1", 130, record=True)
    clock.set("2026-10-01T00:00:00Z")
    assert await ledger.figures("ann") == Figures(30, 0, 70)
    assert_denied(await ledger.reserve("r1", "ann", tokens(71)), "budget_exhausted", available=70)
    await spend(ledger, "c2", 1)
    event = await ledger.connection.fetchrow(
        "select amounts, actor from preauth.usage_event where kind = 'adjustment'"
    )
    assert tuple(event) == ({"tokens": 30}, "rollover")


async def test_what_is_overspent_by_more_than_a_limit_is_carried_on(ledger, clock):
    await grant(ledger, overspend=True)
    await spend(ledger, "c1", 330, record=True)
    clock.set("2026-10-01T00:00:00Z")
    await spend(ledger, "c2", 0, record=True)
    assert await ledger.figures("ann") == Figures(230, 0, -130)
    clock.set("2026-12-01T00:00:00Z")
    assert await ledger.figures("ann") == Figures(30, 0, 70)


async def test_a_limit_changed_now_leaves_what_rolled_over_on_top(ledger, clock):
    await grant(ledger)
    await spend(ledger, "c1", 70)
    clock.set("2026-10-01T00:00:00Z")
    await spend(ledger, "c2", 1)
    await grant(ledger, limit=500)
    assert (await ledger.window("ann"))["limit"] == 530


async def test_a_raise_that_was_not_used_is_not_left_over(ledger, clock):
    await grant(ledger, window=DAY)
    body = {"amount": 1000, "expires_at": "2026-09-15T00:00:00Z"}
    await ledger.call("put_raise", account_id="ann", name="cap", body=body)
    await spend(ledger, "c1", 70)
    clock.set("2026-09-15T00:00:00Z")
    assert (await ledger.window("ann"))["limit"] == 130


async def test_a_fixed_window_takes_over_from_the_one_before(ledger, clock):
    await grant(ledger, window=fixed(60))
    await spend(ledger, "c1", 70)
    clock.advance(seconds=600)
    await spend(ledger, "c2", 1)
    assert (await ledger.window("ann"))["limit"] == 130


async def test_a_denial_tells_when_it_fits_with_what_rolls_over(ledger, clock):
    await grant(ledger)
    await spend(ledger, "c1", 70)
    clock.set("2026-10-01T00:00:00Z")
    await spend(ledger, "c2", 20)
    denied = await ledger.reserve("r1", "ann", tokens(125))
    assert_denied(denied, "budget_exhausted", available=110)
    clock.advance(milliseconds=denied["retry_after_ms"])
    assert (await ledger.reserve("r2", "ann", tokens(125)))["decision"] == "authorized"


BAD = [
    ("rollover", {"rollover": 5}),
    ("rollover.max", {"rollover": {}}),
    ("rollover.max", {"rollover": {"max": -1}}),
    ("rollover.max", {"rollover": {"max": 1.0}}),
    ("rollover.overspend", {"rollover": {"max": 1, "overspend": "yes"}}),
    ("rollover.least", {"rollover": {"max": 1, "least": 1}}),
    ("rollover", {"rollover": {"max": 1}, "window": {"kind": "lifetime"}}),
]


@pytest.mark.parametrize(("field", "more"), BAD)
async def test_a_malformed_rollover_names_the_field(ledger, clock, field, more):
    await ledger.put_account("ann")
    reply = await ledger.put_budget("ann", "cap", budget(**{"window": MONTH, **more}))
    assert reply["status"] == 400
    assert [e["path"] for e in reply["errors"]] == [field]


async def test_it_is_read_back_with_its_default(ledger, clock):
    await grant(ledger)
    (read,) = (await ledger.call("account", account_id="ann"))["budgets"]
    assert read["rollover"] == {"max": 150, "overspend": False}


@pytest.mark.parametrize("written", [False, True], ids=["nobody writes it down", "the job does"])
async def test_overspend_is_what_is_above_the_limit_after_a_raise_has_ended(ledger, clock, written):
    await grant(ledger, most=0, window=DAY, overspend=True)
    raised = {"amount": 50, "expires_at": "2026-09-14T15:00:00Z"}
    await ledger.call("put_raise", account_id="ann", name="cap", body=raised)
    await spend(ledger, "c1", 140)
    clock.set("2026-09-14T16:00:00Z")
    if written:
        assert await ledger.call("apply_due", max_count=10) == 1
    clock.set("2026-09-15T00:00:00Z")
    await spend(ledger, "c2", 1)
    assert await ledger.figures("ann") == Figures(41, 0, 59)


async def test_an_unlimited_window_leaves_nothing_and_none_is_added_to_it(ledger, clock):
    await grant(ledger, limit=None)
    await spend(ledger, "c1", 70)
    clock.set("2026-10-01T00:00:00Z")
    await spend(ledger, "c2", 1)
    assert (await ledger.window("ann"))["limit"] is None
    body = budget(limit=100, window=MONTH, rollover={"max": 150}, apply="next_window")
    assert (await ledger.put_budget("ann", "cap", body))["limit_amount"] == 100
    clock.set("2026-11-01T00:00:00Z")
    assert (await ledger.window("ann"))["limit"] == 100
    await spend(ledger, "c3", 1)
    assert (await ledger.window("ann"))["limit"] == 100


async def test_where_more_than_a_thousand_windows_must_pass_the_end_of_that_one_is_told(
    ledger, clock
):
    await grant(ledger, limit=1, most=5000, window=HOUR)
    await spend(ledger, "c1", 1)
    denial = await ledger.reserve("r1", "ann", tokens(3000))
    # this hour, and a thousand after it
    assert_denied(denial, "budget_exhausted", retry_after_ms=1001 * 3600 * 1000)


async def test_no_wait_makes_more_roll_over_than_the_maximum(ledger, clock):
    await grant(ledger, limit=100, most=150, window=DAY)
    await spend(ledger, "c1", 100)
    hours = 12 + 2 * 24  # nothing is left of today; two whole days leave the maximum
    fits = await ledger.reserve("r1", "ann", tokens(250))
    assert_denied(fits, "budget_exhausted", retry_after_ms=hours * 3600 * 1000)
    assert_denied(
        await ledger.reserve("r2", "ann", tokens(251)), "exceeds_limit", retry_after_ms=None
    )


async def test_a_denial_that_saw_its_window_end_counts_on_from_the_one_before(ledger, clock):
    """The window that the call itself has made is gone with it: it leaves nothing to the next."""
    await ledger.grant("org", 1000)
    await ledger.put_account("ann", parent_id="org")
    await grant(ledger, most=500, window=DAY)
    await spend(ledger, "c1", 70)
    clock.advance(days=1)
    holding, asking = await ledger.sessions(2)
    block = holding.connection.transaction()
    await block.start()
    await holding.connection.execute(
        "select from preauth.budget_window where account_id = 'org' for update"
    )
    waiting = asyncio.create_task(asking.reserve("r1", "ann", tokens(200)))
    await until(lambda: ledger.waits(asking), "the reserve waits for org's window")
    clock.advance(days=1)
    await block.rollback()
    denial = await waiting
    # 30 are left of Monday, all of Tuesday, in which nothing was spent, and Wednesday's own
    assert_denied(denial, "budget_exhausted", available=130, retry_after_ms=1)
    assert (await ledger.reserve("r2", "ann", tokens(230)))["decision"] == "authorized"
    assert (await ledger.reserve("r3", "ann", tokens(1)))["decision"] == "denied"


async def test_a_denial_after_idle_decades_counts_no_more_periods_than_fill_what_rolls_over(ledger, clock):  # fmt: skip
    await ledger.grant("ann", 100, window=HOUR, rollover={"max": 300, "overspend": True})
    await ledger.charge("c", "ann", tokens(1000), record=True)
    clock.set("2056-09-14T12:30:00Z")
    async with ledger.connection.transaction():
        await ledger.connection.execute("set local track_functions = 'all'")
        denial = await ledger.reserve("r", "ann", tokens(401))
        periods = await ledger.connection.fetchval(PERIODS_WORKED_OUT)
    assert 0 < periods < 100
    assert_denied(denial, "exceeds_limit", available=400, retry_after_ms=None)
