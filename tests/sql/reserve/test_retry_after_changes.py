"""``retry_after_ms`` foresees what time alone changes: raises, scheduled plans, what rolls over."""

import pytest

from tests.sql.reserve.test_retry_after import assert_fits_exactly_then
from tests.support.checks import assert_denied
from tests.support.money import DAY, LIFETIME, budget, fixed, tokens

HOURS = 3600 * 1000
MORE = {"max": 500}
DEBT = {"max": 0, "overspend": True}


async def test_what_rolls_over_is_waited_for_through_as_many_windows_as_it_takes(ledger, clock):
    await ledger.grant("ann", 100, window=DAY, rollover=MORE)
    await ledger.charge("c", "ann", tokens(80))
    denial = await ledger.reserve("r", "ann", tokens(350))
    assert denial["retry_after_ms"] == (12 + 3 * 24) * HOURS
    assert_denied(denial, "budget_exhausted", status=429)
    await assert_fits_exactly_then(ledger, clock, denial, 350)


async def test_more_than_ever_rolls_over_never_fits(ledger, clock):
    await ledger.grant("ann", 100, window=DAY, rollover=MORE)
    await ledger.charge("c", "ann", tokens(80))
    denial = await ledger.reserve("r", "ann", tokens(601))
    assert_denied(denial, "exceeds_limit", status=402)
    assert denial["retry_after_ms"] is None


async def test_overspend_that_is_carried_is_waited_for_until_it_is_made_up(ledger, clock):
    await ledger.grant("ann", 100, window=DAY, rollover=DEBT)
    await ledger.charge("c", "ann", tokens(470), record=True)
    denial = await ledger.reserve("r", "ann", tokens(100))
    assert denial["retry_after_ms"] == (12 + 4 * 24) * HOURS
    await assert_fits_exactly_then(ledger, clock, denial, 100)


async def test_a_raise_that_ends_before_the_window_does_is_not_counted_on(ledger, clock):
    await ledger.grant("ann", 100, window=DAY)
    body = {"amount": 100, "expires_at": "2026-09-15T06:00:00Z"}
    await ledger.call("put_raise", account_id="ann", name="cap", body=body)
    await ledger.charge("c", "ann", tokens(150))
    denial = await ledger.reserve("r", "ann", tokens(120))
    assert denial["retry_after_ms"] == 12 * HOURS
    await assert_fits_exactly_then(ledger, clock, denial, 120)
    assert (await ledger.reserve("s", "ann", tokens(101)))["retry_after_ms"] is None


async def test_a_lease_that_lapses_after_a_raise_has_ended_frees_too_little(ledger, clock):
    await ledger.grant("ann", 100, window=LIFETIME, on_expiry="release")
    body = {"amount": 100, "expires_at": "2026-09-14T13:00:00Z"}
    await ledger.call("put_raise", account_id="ann", name="cap", body=body)
    await ledger.charge("c", "ann", tokens(90))
    await ledger.reserve("h", "ann", tokens(80), ttl_seconds=7200)
    denial = await ledger.reserve("r", "ann", tokens(60))
    assert denial["retry_after_ms"] is None


@pytest.mark.parametrize("when", [{"at": "2026-09-14T18:00:00Z"}, {"apply": "next_window"}])
async def test_a_plan_to_come_is_waited_for(ledger, clock, when):
    await ledger.put_plan("free", budget("cap", 100, window=DAY))
    await ledger.put_plan("pro", budget("cap", 1000, window=DAY))
    await ledger.put_account("ann", plan_id="free")
    await ledger.charge("c", "ann", tokens(90))
    await ledger.call("switch_plan", account_id="ann", body={"plan_id": "pro", **when})
    denial = await ledger.reserve("r", "ann", tokens(500))
    assert denial["retry_after_ms"] == (6 if "at" in when else 12) * HOURS
    assert denial["status"] == 429
    await assert_fits_exactly_then(ledger, clock, denial, 500)


async def test_a_plan_to_come_with_less_leaves_only_what_fits_before_it(ledger, clock):
    await ledger.put_plan("pro", budget("cap", 1000, window=LIFETIME, on_expiry="release"))
    await ledger.put_plan("free", budget("cap", 100, window=LIFETIME, on_expiry="release"))
    await ledger.put_account("ann", plan_id="pro")
    await ledger.reserve("h1", "ann", tokens(600), ttl_seconds=3600)
    body = {"plan_id": "free", "at": "2026-09-14T18:00:00Z"}
    await ledger.call("switch_plan", account_id="ann", body=body)
    denial = await ledger.reserve("r", "ann", tokens(500))
    assert denial["retry_after_ms"] == 1 * HOURS
    await ledger.reserve("h2", "ann", tokens(400), ttl_seconds=7 * 3600)
    assert (await ledger.reserve("s", "ann", tokens(700)))["retry_after_ms"] is None


async def test_a_plan_to_come_is_waited_for_where_no_budget_applies_yet(ledger, clock):
    await ledger.put_plan("other", budget("calls", 100, unit="calls", enforcement="soft"))
    await ledger.put_plan("free", budget("cap", 100, window=LIFETIME))
    await ledger.put_account("ann", plan_id="other", max_open_holds=1)
    body = {"plan_id": "free", "at": "2026-09-14T18:00:00Z"}
    await ledger.call("switch_plan", account_id="ann", body=body)
    denial = await ledger.reserve("r", "ann", tokens(50))
    assert_denied(denial, "no_budget", status=429, retry_after_ms=6 * HOURS, budget=None)
    await assert_fits_exactly_then(ledger, clock, denial, 50)


async def test_a_bound_on_open_holds_to_come_is_no_hope(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100))
    await ledger.put_plan("other", budget("calls", 100, unit="calls", enforcement="soft"))
    await ledger.put_account("ann", plan_id="free", max_open_holds=1)
    body = {"plan_id": "other", "at": "2026-09-14T18:00:00Z"}
    await ledger.call("switch_plan", account_id="ann", body=body)
    assert (await ledger.reserve("r", "ann", tokens(500)))["retry_after_ms"] is None


async def test_an_alternative_is_waited_for_where_no_budget_counts_the_request(ledger, clock):
    await ledger.grant("ann", 100, window=DAY, model="small")
    await ledger.charge("c", "ann", tokens(90), model="small")
    other = {"model": "small", "amounts": tokens(50)}
    denial = await ledger.reserve("r", "ann", tokens(50), model="big", alternatives=[other])
    assert_denied(denial, "no_budget", status=429, retry_after_ms=12 * HOURS)


async def test_a_plan_to_come_without_any_budget_that_applies_is_no_hope(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100, window=LIFETIME))
    await ledger.put_plan("other", budget("calls", 100, unit="calls", window=LIFETIME))
    await ledger.put_account("ann", plan_id="free")
    body = {"plan_id": "other", "at": "2026-09-14T18:00:00Z"}
    await ledger.call("switch_plan", account_id="ann", body=body)
    assert (await ledger.reserve("r", "ann", tokens(500)))["retry_after_ms"] is None


async def test_a_denied_request_settles_nothing_that_rolls_over(ledger, clock):
    """A lease of the window before lapses after its end: it is left over, denied requests or not."""
    await ledger.grant("ann", 100, window=DAY, rollover=MORE, on_expiry="release")
    clock.set("2026-09-14T23:59:00Z")
    await ledger.reserve("h", "ann", tokens(100), ttl_seconds=600)
    clock.set("2026-09-15T00:00:01Z")
    denial = await ledger.reserve("r", "ann", tokens(150))
    assert denial["retry_after_ms"] == 539_000
    await assert_fits_exactly_then(ledger, clock, denial, 150)


async def test_carried_overspend_does_not_let_a_denial_start_a_fixed_window(ledger, clock):
    await ledger.grant("ann", 100, window=fixed(3600), rollover=DEBT, thresholds=[10])
    await ledger.charge("c", "ann", tokens(150), record=True)
    clock.advance(hours=2)
    assert (await ledger.reserve("r", "ann", tokens(60)))["decision"] == "denied"
    assert await ledger.count("budget_window") == 1
    assert await ledger.count("outbox") == 1
    clock.advance(minutes=50)
    await ledger.charge("d", "ann", tokens(1))
    clock.advance(minutes=59)
    window = await ledger.window("ann")
    assert (window["settled"], window["window"]) == (51, "fixed:2026-09-14T14:50:00.000000Z")


async def test_available_leaves_out_lapsed_leases_where_only_the_next_window_is_large_enough(ledger, clock):  # fmt: skip
    await ledger.grant("ann", 100, window=DAY, on_expiry="release")
    await ledger.reserve("h", "ann", tokens(1), ttl_seconds=1)
    await ledger.grant("ann", 200, window=DAY, on_expiry="release", apply="next_window")
    clock.advance(seconds=1)
    denial = await ledger.reserve("r", "ann", tokens(101))
    assert_denied(denial, "budget_exhausted", available=100)
