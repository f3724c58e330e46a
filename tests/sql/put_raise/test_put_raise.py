"""A temporary raise: so much more until an instant, and not a moment longer, with no job."""

import pytest

from tests.support.checks import assert_denied, assert_problem
from tests.support.money import DAY, MAX_AMOUNT, MONTH, budget, tokens
from tests.support.session import Figures

FRIDAY = "2026-09-18T12:00:00Z"


async def put(ledger, amount=500, expires_at=FRIDAY, name="cap", **more):
    body = {"amount": amount, "expires_at": expires_at, **more}
    return await ledger.call("put_raise", account_id="ann", name=name, body=body)


async def end(ledger, name="cap"):
    return await ledger.call("delete_raise", account_id="ann", name=name, reason="enough")


@pytest.fixture(params=[False, True], ids=["nobody writes it down", "the job writes it down"])
def job(request):
    return request.param


async def come(ledger, clock, instant, job):
    clock.set(instant)
    if job:
        assert await ledger.call("apply_due", max_count=10) == 1


@pytest.fixture
async def spent(ledger, clock):
    """ann has spent 900 of free's 1000 tokens a month."""
    await ledger.put_plan("free", budget("cap", 1000, window=MONTH))
    await ledger.put_account("ann", plan_id="free")
    await ledger.charge("c1", "ann", tokens(900))
    return ledger


async def test_the_current_window_has_so_much_more(spent):
    reply = await put(spent, reason="launch")
    assert reply == {
        "account_id": "ann", "budget": "cap", "amount": 500, "expires_at": "2026-09-18T12:00:00.000000Z",
    }  # fmt: skip
    assert await spent.figures("ann") == Figures(900, 0, 600)
    assert (await spent.charge("c2", "ann", tokens(600)))["decision"] == "authorized"


async def test_it_ends_by_itself_at_the_very_instant(spent, clock, job):
    await put(spent)
    clock.set("2026-09-18T11:59:59.999999Z")
    assert await spent.figures("ann") == Figures(900, 0, 600)
    await come(spent, clock, FRIDAY, job)
    assert await spent.figures("ann") == Figures(900, 0, 100)
    assert_denied(await spent.reserve("r1", "ann", tokens(101)), "budget_exhausted", available=100)
    assert (await spent.reserve("r2", "ann", tokens(100)))["lines"][0]["available"] == 0


async def test_what_was_spent_out_of_it_stays_spent(spent, clock, job):
    await put(spent)
    await spent.charge("c2", "ann", tokens(600))
    await come(spent, clock, FRIDAY, job)
    assert await spent.figures("ann") == Figures(1500, 0, -500)


async def test_windows_made_until_then_have_it_too(ledger, clock, job):
    await ledger.grant("ann", 100, window=DAY)
    await put(ledger, 50)
    clock.set("2026-09-17T12:00:00Z")
    await ledger.charge("c1", "ann", tokens(140))
    clock.set("2026-09-18T08:00:00Z")
    await ledger.charge("c2", "ann", tokens(150))
    await come(ledger, clock, FRIDAY, job)
    assert await ledger.figures("ann") == Figures(150, 0, -50)
    clock.set("2026-09-19T08:00:00Z")
    assert (await ledger.window("ann"))["limit"] == 100


async def test_another_one_replaces_it(spent):
    await put(spent)
    await put(spent, 200)
    assert (await spent.window("ann"))["limit"] == 1200


async def test_it_can_be_ended_before_its_time(spent):
    await put(spent)
    assert (await end(spent))["amount"] == 500
    assert await spent.figures("ann") == Figures(900, 0, 100)
    assert_problem(await end(spent), 404, "raise_unknown")


async def test_a_change_of_the_limit_meanwhile_stays_when_it_ends(spent, clock, job):
    await put(spent)
    await spent.put_plan("free", budget("cap", 2000, window=MONTH))
    assert (await spent.window("ann"))["limit"] == 2500
    await come(spent, clock, FRIDAY, job)
    assert (await spent.window("ann"))["limit"] == 2000


async def test_it_goes_with_the_account_to_another_plan(spent, clock, job):
    await put(spent)
    await spent.put_plan("pro", budget("cap", 5000, window=MONTH))
    await spent.call("switch_plan", account_id="ann", body={"plan_id": "pro"})
    assert (await spent.window("ann"))["limit"] == 5500
    await come(spent, clock, FRIDAY, job)
    assert (await spent.window("ann"))["limit"] == 5000


async def test_nobody_else_has_it(spent):
    await spent.put_account("bob", plan_id="free")
    await put(spent)
    assert (await spent.window("bob"))["limit"] == 1000


async def test_an_unlimited_budget_stays_unlimited(ledger, clock):
    await ledger.grant("ann", None, window=MONTH)
    await ledger.charge("c1", "ann", tokens(5))
    await put(ledger)
    assert await ledger.figures("ann") == Figures(5, 0, None)


async def test_no_limit_passes_the_largest_amount(spent, clock, job):
    await put(spent, MAX_AMOUNT)
    assert (await spent.window("ann"))["limit"] == MAX_AMOUNT
    await come(spent, clock, FRIDAY, job)
    assert (await spent.window("ann"))["limit"] == 1000


async def test_begin_and_end_are_events_and_in_the_log(spent, clock):
    await put(spent, reason="launch")
    clock.set(FRIDAY)
    await spent.call("apply_due", max_count=10)
    events = await spent.connection.fetch(
        "select amounts, actor, reason from preauth.usage_event where kind = 'limit_changed' order by event_id"
    )
    assert [e["amounts"] for e in events] == [
        {"before": 1000, "after": 1500}, {"before": 1500, "after": 1000},
    ]  # fmt: skip
    assert events[0]["reason"] == "launch"
    assert events[1]["actor"] == "schedule"
    change = await spent.connection.fetchrow(
        "select * from preauth.change_log where subject = 'limit_raise'"
    )
    assert (change["subject_id"], change["before"], change["reason"]) == ("ann/cap", None, "launch")
    assert change["after"]["amount"] == 500


async def test_a_budget_that_does_not_apply_is_a_404(spent):
    assert_problem(await put(spent, name="other"), 404, "budget_unknown")
    reply = await spent.call(
        "put_raise", account_id="nobody", name="cap", body={"amount": 1, "expires_at": FRIDAY}
    )
    assert_problem(reply, 404, "account_unknown")


BAD = {
    "amount": [{"amount": 0}, {"amount": -1}, {"amount": 1.0}, {"amount": None}, {"amount": 2**53}],
    "expires_at": [{"expires_at": None}, {"expires_at": "2026-09-14T12:00:00Z"}, {"expires_at": "Friday"},
                   {"expires_at": "9999-12-31T23:59:59-14:00"}],
    "reason": [{"reason": ""}],
    "limit": [{"limit": 5}],
}  # fmt: skip


@pytest.mark.parametrize(("field", "more"), [(f, m) for f, cases in BAD.items() for m in cases])
async def test_a_malformed_raise_names_the_field_and_changes_nothing(spent, field, more):
    before = await spent.contents()
    reply = await put(spent, **more)
    assert_problem(reply, 400, "malformed")
    assert [e["path"] for e in reply["errors"]] == [field]
    assert await spent.contents() == before
