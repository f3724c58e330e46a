"""``retry_after_ms`` of rolling windows: slices that age out and leases that lapse, together."""

from datetime import timedelta

import pytest

from tests.support.checks import assert_denied
from tests.support.money import DAY, LIFETIME, calendar, rolling, tokens

MINUTE = rolling(60, 6)


async def assert_fits_exactly_then(ledger, clock, amount, account_id="ann", **more):
    """Denied now; a retry 1 ms before the announced instant too; one made at it succeeds."""
    denial = await ledger.reserve("now", account_id, tokens(amount), **more)
    wait = denial["retry_after_ms"]
    assert wait is not None, denial
    instant = clock.now + timedelta(milliseconds=wait)
    clock.set(instant - timedelta(milliseconds=1))
    early = await ledger.reserve("early", account_id, tokens(amount), **more)
    assert early["decision"] == "denied", early
    assert early["retry_after_ms"] == 1
    clock.set(instant)
    reply = await ledger.reserve("then", account_id, tokens(amount), **more)
    assert reply["decision"] == "authorized", reply
    return wait


@pytest.mark.parametrize(
    ("amount", "wait"),
    [(100, 40_000), (200, 40_000), (201, 50_000), (450, 60_000), (900, 60_000)],
)
async def test_as_many_slices_are_awaited_as_are_needed(ledger, clock, amount, wait):
    await ledger.grant("ann", 900, window=MINUTE)
    for n, spent in enumerate((200, 200, 500)):
        await ledger.charge(f"c{n}", "ann", tokens(spent))
        clock.advance(seconds=10)
    assert await assert_fits_exactly_then(ledger, clock, amount) == wait


async def test_the_wait_is_exact_between_slices_too(ledger, clock):
    clock.advance(milliseconds=3_456)
    await ledger.grant("ann", window=MINUTE)
    await ledger.charge("c", "ann", tokens(1000))
    clock.advance(milliseconds=7_891)
    assert await assert_fits_exactly_then(ledger, clock, 1) == 70_000 - 3_456 - 7_891


@pytest.mark.parametrize(
    ("amount", "wait"),
    [(300, 5_000), (600, 5_000), (601, 35_000), (750, 35_000), (751, 40_000), (1000, 40_000)],
)
async def test_slices_and_leases_are_awaited_together(ledger, clock, amount, wait):
    """150 age out after 70 s, 600 lapse after 35 s, 150 after 65 s, 100 age out after 70 s."""
    await ledger.grant("ann", 1000, window=MINUTE, on_expiry="release")
    await ledger.charge("c", "ann", tokens(250))
    await ledger.reserve("r1", "ann", tokens(600), ttl_seconds=35)
    await ledger.reserve("r2", "ann", tokens(150), ttl_seconds=65)
    clock.advance(seconds=30)
    assert await assert_fits_exactly_then(ledger, clock, amount) == wait


async def test_a_kept_hold_is_not_awaited(ledger, clock):
    await ledger.grant("ann", 1000, window=MINUTE)
    await ledger.reserve("r", "ann", tokens(600), ttl_seconds=5)
    await ledger.charge("c", "ann", tokens(300))
    assert_denied(
        await ledger.reserve("never", "ann", tokens(401)), "budget_exhausted", status=402,
        retry_after_ms=None, resets_at=None,
    )  # fmt: skip
    assert await assert_fits_exactly_then(ledger, clock, 400) == 70_000


async def test_more_than_the_limit_never_fits(ledger, clock):
    await ledger.grant("ann", 1000, window=MINUTE)
    await ledger.charge("c", "ann", tokens(300))
    reply = await ledger.reserve("r", "ann", tokens(1001))
    assert_denied(reply, "exceeds_limit", status=402, retry_after_ms=None)


async def test_of_a_rolling_and_a_calendar_window_the_later_instant_counts(ledger, clock):
    await ledger.grant("ann", 100, "minute", window=MINUTE)
    await ledger.grant("ann", 100, "hour", window=calendar("hour"))
    clock.set("2026-09-14T12:59:30Z")
    await ledger.charge("c", "ann", tokens(100))
    assert await assert_fits_exactly_then(ledger, clock, 50) == 70_000


async def test_requests_per_minute_are_awaited_on_a_shared_scope(ledger, clock):
    await ledger.grant("org", 3, "rpm", unit="requests", window=rolling(60, 60))
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", None)
    for n in range(3):
        await ledger.charge(f"c{n}", "ann", tokens(1))
        clock.advance(milliseconds=1500)
    assert await assert_fits_exactly_then(ledger, clock, 1) == 61_000 - 4_500


async def test_charges_denied_in_the_batch_that_filled_the_window_are_told_its_slice(ledger, clock):
    await ledger.grant("ann", 1000, window=MINUTE)
    clock.advance(seconds=4)
    items = [{"request_id": f"c{n}", "account_id": "ann", "amounts": tokens(600)} for n in range(2)]
    _, denied = await ledger.many("charge", items)
    assert denied.body["retry_after_ms"] == 66_000
    assert await assert_fits_exactly_then(ledger, clock, 600) == 66_000


async def test_a_hold_of_the_same_batch_is_not_awaited_as_a_charge_is(ledger, clock):
    await ledger.grant("ann", 1000, window=MINUTE)
    items = [{"request_id": f"r{n}", "account_id": "ann", "amounts": tokens(600)} for n in range(2)]
    _, denied = await ledger.many("reserve", items)
    assert denied.body["retry_after_ms"] is None


async def test_an_alternative_that_fits_sooner_is_what_is_awaited(ledger, clock):
    await ledger.grant("ann", 1000, window=MINUTE)
    await ledger.charge("c1", "ann", tokens(400))
    clock.advance(seconds=10)
    await ledger.charge("c2", "ann", tokens(500))
    wait = await assert_fits_exactly_then(
        ledger, clock, 900, alternatives=[{"amounts": tokens(1200)}, {"amounts": tokens(450)}]
    )
    assert wait == 60_000


async def test_an_alternative_may_fit_where_the_request_never_does(ledger, clock):
    await ledger.grant("ann", 1000, window=MINUTE)
    await ledger.charge("c1", "ann", tokens(1000))
    denial = await ledger.reserve("r", "ann", tokens(2000), alternatives=[{"amounts": tokens(450)}])
    assert_denied(denial, "exceeds_limit", status=429, required=2000, retry_after_ms=70_000)


async def test_a_budget_that_fits_now_but_will_not_then_is_waited_out(ledger, clock):
    """The day's room is there now and gone at midnight; the minute's comes after midnight."""
    await ledger.grant("ann", 1000, "day", window=DAY)
    await ledger.grant("ann", 100, "minute", window=MINUTE)
    clock.set("2026-09-14T23:59:30Z")
    await ledger.charge("c", "ann", tokens(60))
    await ledger.grant("ann", 50, "day", window=DAY, apply="next_window")
    denial = await ledger.reserve("r", "ann", tokens(55))
    assert_denied(denial, "budget_exhausted", status=402, budget="minute", retry_after_ms=None)


@pytest.mark.parametrize("budgets", [1, 2], ids=["alone", "beside a rolling one"])
async def test_a_lease_that_outlasts_its_window_frees_nothing_in_the_next(ledger, clock, budgets):
    await ledger.grant("ann", 100, window=DAY, on_expiry="release")
    clock.set("2026-09-14T23:59:30Z")
    if budgets > 1:
        await ledger.grant("ann", 1000, "a-rate", window=MINUTE)
        await ledger.charge("c", "ann", tokens(5))
    await ledger.reserve("lease", "ann", tokens(60), ttl_seconds=600)
    await ledger.grant("ann", 10, window=DAY, on_expiry="release", apply="next_window")
    denial = await ledger.reserve("r", "ann", tokens(50))
    assert_denied(denial, "budget_exhausted", status=402, retry_after_ms=None)


@pytest.mark.parametrize("budgets", [1, 2], ids=["alone", "beside a rolling one"])
async def test_a_request_above_this_windows_limit_may_fit_the_next(ledger, clock, budgets):
    await ledger.grant("ann", 100, window=DAY)
    if budgets > 1:
        await ledger.grant("ann", 1000, "rate", window=MINUTE)
    await ledger.charge("c", "ann", tokens(10))
    await ledger.grant("ann", 500, window=DAY, apply="next_window")
    assert_denied(await ledger.reserve("r", "ann", tokens(300)), "budget_exhausted", status=429)
    assert await assert_fits_exactly_then(ledger, clock, 300) == 12 * 3600 * 1000


async def credit(ledger, amount):
    """On ann's only window, as an adjustment writes it."""
    await ledger.connection.execute(
        "select preauth._correct_settled(w.window_id, -$1::bigint, preauth._now())"
        " from preauth.budget_window as w",
        amount,
    )
    await ledger.connection.execute(
        "insert into preauth.usage_event"
        " (account_id, request_id, kind, window_id, amounts, occurred_at, actor)"
        " select 'ann', 'credit', 'adjustment', w.window_id,"
        " jsonb_build_object('tokens', -$1::bigint), preauth._now(), 'test'"
        " from preauth.budget_window as w",
        amount,
    )


async def test_room_that_a_credit_gives_does_not_wait_until_another_window_ends(ledger, clock):
    """What the hour lacks it has at 13:00; what the credit gives is gone at 12:01:10."""
    await ledger.grant("ann", 1000, "a-rate", window=MINUTE)
    await ledger.charge("c0", "ann", tokens(0))
    await credit(ledger, 500)
    await ledger.grant("ann", 1300, "b-hour", window=calendar("hour"))
    await ledger.charge("c1", "ann", tokens(200))
    denial = await ledger.reserve("r", "ann", tokens(1200))
    assert_denied(denial, "budget_exhausted", status=402, budget="b-hour", retry_after_ms=None)


async def test_a_credit_that_ages_out_is_room_that_goes(ledger, clock):
    """A credit of 500 lasts until 12:01:10; 900 spent later last until 12:01:40."""
    await ledger.grant("ann", 1000, window=MINUTE)
    await ledger.charge("c0", "ann", tokens(0))
    await credit(ledger, 500)
    clock.advance(seconds=30)
    await ledger.charge("c1", "ann", tokens(900))
    assert_denied(await ledger.reserve("r", "ann", tokens(700)), "budget_exhausted", available=600)
    clock.advance(seconds=40)
    assert await assert_fits_exactly_then(ledger, clock, 101) == 30_000


async def test_after_a_credit_more_than_the_limit_fits_once_leases_have_lapsed(ledger, clock):
    await ledger.grant("ann", 15, window=LIFETIME, on_expiry="release")
    await ledger.reserve("lease", "ann", tokens(10), ttl_seconds=1)
    await credit(ledger, 20)
    assert await assert_fits_exactly_then(ledger, clock, 30) == 1_000
    assert_denied(await ledger.reserve("more", "ann", tokens(36)), "exceeds_limit")
