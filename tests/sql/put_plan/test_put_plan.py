"""A plan is a named set of budgets that accounts share."""

import pytest

from tests.support.checks import assert_denied, assert_problem, at
from tests.support.money import DAY, MONTH, budget, calendar, cycle, fixed, rolling, tokens
from tests.support.session import Figures


async def test_a_plan_is_made_and_read_back(ledger, clock):
    reply = await ledger.put_plan("free", budget("cap", 100, window=MONTH), budget("other", None))
    assert reply["plan_id"] == "free"
    assert at(reply["created_at"]) == clock.now
    assert {b["name"]: b["limit_amount"] for b in reply["budgets"]} == {"cap": 100, "other": None}
    read = await ledger.call("plan", plan_id="free")
    assert read["budgets"] == reply["budgets"]


async def test_defaults_are_hard_charge_and_keep(ledger, clock):
    (stored,) = (await ledger.put_plan("free", budget("cap", 100)))["budgets"]
    assert (stored["enforcement"], stored["overage"], stored["on_expiry"]) == (
        "hard", "charge", "keep",
    )  # fmt: skip


async def test_the_same_plan_again_changes_nothing_that_is_spent(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100))
    await ledger.put_account("ann", plan_id="free")
    await ledger.charge("c1", "ann", tokens(60))
    await ledger.put_plan("free", budget("cap", 100))
    assert await ledger.figures("ann") == Figures(60, 0, 40)


async def test_a_limit_raised_now_moves_the_current_window_of_every_account(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100, window=MONTH))
    for account in ("ann", "bob"):
        await ledger.put_account(account, plan_id="free")
        await ledger.charge("c1", account, tokens(60))
    await ledger.put_plan("free", budget("cap", 200, window=MONTH), apply="now")
    for account in ("ann", "bob"):
        assert await ledger.figures(account) == Figures(60, 0, 140)


async def test_a_limit_changed_for_the_next_window_leaves_the_current_one(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100, window=MONTH))
    await ledger.put_account("ann", plan_id="free")
    await ledger.charge("c1", "ann", tokens(60))
    await ledger.put_plan("free", budget("cap", 200, window=MONTH), apply="next_window")
    assert await ledger.figures("ann") == Figures(60, 0, 40)
    clock.set("2026-10-01T00:00:00Z")
    assert await ledger.figures("ann") == Figures(0, 0, 200)


async def test_an_omitted_budget_is_retired(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100), budget("other", 5))
    await ledger.put_account("ann", plan_id="free")
    assert_denied(await ledger.reserve("r1", "ann", tokens(6)), "exceeds_limit", budget="other")
    await ledger.put_plan("free", budget("cap", 100))
    assert (await ledger.reserve("r2", "ann", tokens(6)))["decision"] == "authorized"


async def test_an_account_that_moves_to_another_plan_is_under_its_budgets(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100))
    await ledger.put_plan("pro", budget("cap", 5000))
    await ledger.put_account("ann", plan_id="free")
    assert_denied(await ledger.reserve("r1", "ann", tokens(101)), "exceeds_limit")
    await ledger.put_account("ann", plan_id="pro")
    assert (await ledger.reserve("r2", "ann", tokens(101)))["decision"] == "authorized"


async def test_every_change_is_recorded_with_who_before_after_and_why(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100))
    body = {"budgets": [budget("cap", 200)], "reason": "a gift"}
    await ledger.call("put_plan", plan_id="free", body=body, actor="key_carla")
    row = await ledger.connection.fetchrow(
        "select * from preauth.change_log where actor = 'key_carla' order by change_id limit 1"
    )
    assert row["reason"] == "a gift"
    assert (row["before"] is not None, row["after"] is not None) == (True, True)


async def test_an_unknown_plan_is_a_404(ledger, clock):
    assert (await ledger.call("plan", plan_id="free"))["status"] == 404


BAD_BUDGETS = {
    "no name": budget(None, 100),
    "a name in capitals": budget("Cap", 100),
    "a name of 65 characters": budget("c" * 65, 100),
    "no limit": {"name": "cap", "unit": "tokens", "window": MONTH},
    "a limit as text": budget("cap", "100"),
    "a limit with a decimal point": budget("cap", 100.0),
    "a negative limit": budget("cap", -1),
    "a limit of 2 to the 53": budget("cap", 2**53),
    "true as limit": budget("cap", True),
    "a unit in capitals": budget("cap", unit="USD"),
    "no window": {"name": "cap", "unit": "tokens", "limit_amount": 1},
    "a window as text": {**budget("cap"), "window": "month"},
    "a window of another kind": {**budget("cap"), "window": {"kind": "weekly"}},
    "a rolling window without slices": budget("cap", window={"kind": "rolling", "seconds": 60}),
    "a rolling window of no seconds": budget("cap", window=rolling(0, 1)),
    "a rolling window without a slice": budget("cap", window=rolling(60, 0)),
    "1001 slices": budget("cap", window=rolling(1001, 1001)),
    "slices as text": budget("cap", window=rolling(60, "6")),
    "slices of fractions of a millisecond": budget("cap", window=rolling(10, 7)),
    "a rolling window with a period": budget("cap", window={**rolling(60, 6), "period": "day"}),
    "a cycle of a week": budget("cap", window=cycle("week")),
    "a cycle with a first month": budget("cap", window={**cycle("year"), "year_start_month": 2}),
    "a threshold of 0": budget("cap", thresholds=[0]),
    "a threshold of 1001": budget("cap", thresholds=[1001]),
    "a threshold twice": budget("cap", thresholds=[80, 80]),
    "a threshold as text": budget("cap", thresholds=["80"]),
    "a threshold with a decimal point": budget("cap", thresholds=[80.0]),
    "a bare threshold": budget("cap", thresholds=80),
    "17 thresholds": budget("cap", thresholds=list(range(1, 18))),
    "another period": budget("cap", window=calendar("fortnight")),
    "a calendar without period": {**budget("cap"), "window": {"kind": "calendar"}},
    "another weekday": budget("cap", window=calendar("week", week_start="Montag")),
    "month 13": budget("cap", window=calendar("year", year_start_month=13)),
    "month 0": budget("cap", window=calendar("quarter", year_start_month=0)),
    "zero seconds": budget("cap", window=fixed(0)),
    "more than a leap year of seconds": budget("cap", window=fixed(31_622_401)),
    "seconds as text": budget("cap", window=fixed("60")),
    "an unknown member of the window": budget("cap", window=calendar("day", hour=3)),
    "an unknown member": budget("cap", color="red"),
    "another enforcement": budget("cap", enforcement="medium"),
    "another overage": budget("cap", overage="ignore"),
    "another on_expiry": budget("cap", on_expiry="forget"),
    "overdraft on a hard budget": budget("cap", overdraft_amount=5),
    "a negative overdraft": budget("cap", enforcement="soft", overdraft_amount=-5),
    "a model with a space": budget("cap", model="a b"),
    "a bare number": 7,
}


async def test_malformed_budgets_are_refused_and_nothing_is_written(ledger, clock):
    await ledger.put_plan("free", budget("old", 100, window=DAY))
    before, wrong = await ledger.contents(), []
    for why, body in BAD_BUDGETS.items():
        reply = await ledger.put_plan("free", budget("good", 1), body)
        if reply.get("status") != 400 or "budgets" not in str(reply.get("errors")):
            wrong.append((why, reply))
    assert wrong == []
    assert await ledger.contents() == before


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"budgets": None},
        {"budgets": {}},
        {"budgets": [], "apply": "later"},
        {"budgets": [], "colour": "red"},
        {"budgets": [budget("cap"), budget("cap")]},
        [],
        7,
    ],
    ids=str,
)
async def test_malformed_plans_are_refused_and_nothing_is_written(ledger, clock, body):
    before = await ledger.contents()
    reply = await ledger.call("put_plan", plan_id="free", body=body)
    assert_problem(reply, 400, "malformed")
    assert await ledger.contents() == before


async def test_a_plan_id_is_an_id(ledger, clock):
    assert_problem(await ledger.put_plan("a b", budget("cap")), 400, "malformed")
    assert await ledger.count("plan") == 0


async def test_a_plan_without_an_id_is_malformed(ledger, clock):
    before = await ledger.contents()
    reply = await ledger.call("put_plan", plan_id=None, body={"budgets": [budget("cap", 1)]})
    assert_problem(reply, 400, "malformed")
    assert reply["errors"] == [{"path": "plan_id", "message": "must be a string"}]
    assert await ledger.contents() == before


async def test_null_stands_for_an_optional_member_that_is_left_out(ledger, clock):
    windows = [
        {**MONTH, "week_start": None, "year_start_month": None},
        {"kind": "cycle", "period": None},
        {**calendar("week"), "week_start": None},
        {**calendar("year"), "year_start_month": None},
    ]
    nulls = [budget(f"b{n}", 1, window=window) for n, window in enumerate(windows)]
    await ledger.put_plan(
        "nulls", *nulls, budget("r", 1, window=MONTH, rollover={"max": 1, "overspend": None})
    )
    bare = [
        budget(f"b{n}", 1, window={k: v for k, v in window.items() if v is not None})
        for n, window in enumerate(windows)
    ]
    await ledger.put_plan("bare", *bare, budget("r", 1, window=MONTH, rollover={"max": 1}))
    as_read = [(await ledger.call("plan", plan_id=name))["budgets"] for name in ("nulls", "bare")]
    assert as_read[0] == as_read[1]


async def test_a_budget_that_the_plan_gets_takes_up_what_its_accounts_have_spent_elsewhere(
    ledger, clock
):
    """No second allowance: ann spent hers under a plan that counts alike."""
    await ledger.put_plan("one", budget("cap", 100, window=MONTH))
    await ledger.put_plan("two", budget("calls", 100, unit="calls", window=MONTH))
    await ledger.put_account("ann", plan_id="one")
    await ledger.charge("c1", "ann", tokens(90))
    await ledger.put_account("ann", plan_id="two")
    await ledger.put_account("bob", plan_id="two")
    more = budget("calls", 100, unit="calls", window=MONTH)
    await ledger.put_plan("two", more, budget("cap", 120, window=MONTH))
    assert await ledger.figures("ann") == Figures(90, 0, 30)
    assert await ledger.figures("bob") == Figures(0, 0, 120)
