"""``retry_after_ms`` is the earliest instant at which this very request fits."""

from datetime import timedelta

import pytest

from tests.support.checks import assert_denied
from tests.support.money import DAY, HOUR, LIFETIME, MONTH, calendar, fixed, tokens


async def assert_fits_exactly_then(ledger, clock, denial, amount):
    """Denied one millisecond before the announced instant, authorized at it."""
    wait = denial["retry_after_ms"]
    assert wait > 0
    instant = clock.now + timedelta(milliseconds=wait)
    clock.set(instant - timedelta(milliseconds=1))
    early = await ledger.reserve("early", "ann", tokens(amount))
    assert early["decision"] == "denied", early
    clock.set(instant)
    assert (await ledger.reserve("then", "ann", tokens(amount)))["decision"] == "authorized"


@pytest.mark.parametrize(
    "window",
    [HOUR, DAY, MONTH, calendar("week"), calendar("quarter"), calendar("year"), fixed(3600)],
    ids=lambda w: w.get("period", w["kind"]),
)
async def test_an_exhausted_window_can_be_retried_at_its_end(ledger, clock, window):
    await ledger.grant("ann", window=window)
    await ledger.charge("r1", "ann", tokens(600))
    clock.advance(seconds=7)
    denial = await ledger.reserve("r2", "ann", tokens(500))
    assert_denied(denial, "budget_exhausted", status=429)
    await assert_fits_exactly_then(ledger, clock, denial, 500)


async def test_a_lease_that_lapses_frees_the_room_before_the_window_ends(ledger, clock):
    await ledger.grant("ann", window=DAY, on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(600), ttl_seconds=30)
    denial = await ledger.reserve("r2", "ann", tokens(500))
    assert denial["retry_after_ms"] == 30_000
    await assert_fits_exactly_then(ledger, clock, denial, 500)


async def test_of_several_leases_only_as_many_are_awaited_as_are_needed(ledger, clock):
    await ledger.grant("ann", window=LIFETIME, on_expiry="release")
    for n in range(1, 5):
        await ledger.reserve(f"r{n}", "ann", tokens(250), ttl_seconds=10 * n)
    denial = await ledger.reserve("r9", "ann", tokens(600))
    assert denial["retry_after_ms"] == 30_000
    await assert_fits_exactly_then(ledger, clock, denial, 600)


async def test_a_lease_that_frees_just_what_is_missing_is_enough(ledger, clock):
    await ledger.grant("ann", window=DAY, on_expiry="release")
    for n in range(1, 5):
        await ledger.reserve(f"r{n}", "ann", tokens(250), ttl_seconds=10 * n)
    denial = await ledger.reserve("r9", "ann", tokens(750))
    assert denial["retry_after_ms"] == 30_000
    await assert_fits_exactly_then(ledger, clock, denial, 750)


async def test_of_a_lease_and_a_windows_end_the_later_counts(ledger, clock):
    await ledger.grant("ann", 100, "a-lease", window=DAY, on_expiry="release")
    await ledger.grant("ann", 100, "b-lease", window=HOUR, on_expiry="release")
    await ledger.grant("ann", 200, "c-kept", window=fixed(60))
    await ledger.reserve("r1", "ann", tokens(60), ttl_seconds=90)
    await ledger.charge("r2", "ann", tokens(30))
    denial = await ledger.reserve("r3", "ann", tokens(70))
    assert denial["retry_after_ms"] == 90_000
    await assert_fits_exactly_then(ledger, clock, denial, 70)


async def test_the_window_end_counts_where_it_comes_before_the_lease(ledger, clock):
    clock.set("2026-09-14T23:59:50Z")
    await ledger.grant("ann", window=DAY, on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(600), ttl_seconds=3600)
    denial = await ledger.reserve("r2", "ann", tokens(500))
    assert denial["retry_after_ms"] == 10_000
    await assert_fits_exactly_then(ledger, clock, denial, 500)


async def test_of_two_budgets_the_later_one_counts(ledger, clock):
    await ledger.grant("ann", 100, "per-hour", window=HOUR)
    await ledger.grant("ann", 100, "per-day", window=DAY)
    await ledger.charge("r1", "ann", tokens(80))
    denial = await ledger.reserve("r2", "ann", tokens(30))
    assert denial["retry_after_ms"] == 12 * 3600 * 1000
    await assert_fits_exactly_then(ledger, clock, denial, 30)


async def credit(ledger, name, amount):
    body = {"budget": name, "amount": -amount, "reason": "checked", "idempotency_key": name}
    assert (await ledger.call("adjust", account_id="ann", body=body))["amount"] == -amount


async def test_what_only_a_credited_window_covers_can_wait_until_another_ends(ledger, clock):
    await ledger.grant("ann", 200, "per-hour", window=HOUR)
    await ledger.grant("ann", 100, "per-day", window=DAY)
    await ledger.charge("r0", "ann", tokens(0))
    await credit(ledger, "per-day", 200)
    await ledger.charge("r1", "ann", tokens(150))
    denial = await ledger.reserve("r2", "ann", tokens(120))
    assert denial["retry_after_ms"] == 3600 * 1000
    await assert_fits_exactly_then(ledger, clock, denial, 120)


async def test_what_only_a_credited_window_covers_cannot_wait_until_it_has_ended(ledger, clock):
    await ledger.grant("ann", 100, "per-hour", window=HOUR)
    await ledger.grant("ann", 120, "per-day", window=DAY)
    await ledger.charge("r0", "ann", tokens(90))
    await credit(ledger, "per-hour", 200)
    denial = await ledger.reserve("r1", "ann", tokens(110))
    assert_denied(denial, "budget_exhausted", status=402, budget="per-day", retry_after_ms=None)


async def test_a_lifetime_budget_that_is_spent_never_fits_again(ledger, clock):
    await ledger.grant("ann", window=LIFETIME)
    await ledger.charge("r1", "ann", tokens(600))
    denial = await ledger.reserve("r2", "ann", tokens(500))
    assert_denied(denial, "budget_exhausted", status=402, retry_after_ms=None, resets_at=None)


async def test_a_kept_hold_on_a_lifetime_budget_is_not_waited_for(ledger, clock):
    await ledger.grant("ann", window=LIFETIME)
    await ledger.reserve("r1", "ann", tokens(600), ttl_seconds=5)
    denial = await ledger.reserve("r2", "ann", tokens(500))
    assert_denied(denial, "budget_exhausted", status=402, retry_after_ms=None)


async def test_a_request_per_hour_is_awaited_like_money(ledger, clock):
    await ledger.grant("ann", 1, "rate", unit="requests", window=HOUR)
    await ledger.charge("r1", "ann", tokens(1))
    denial = await ledger.reserve("r2", "ann", tokens(1))
    assert_denied(denial, "budget_exhausted", budget="rate", unit="requests", required=1)
    assert denial["retry_after_ms"] == 3_600_000


async def test_the_retry_after_header_is_whole_seconds_rounded_up(ledger, clock):
    clock.set("2026-09-14T23:59:58.500Z")
    await ledger.grant("ann", window=DAY)
    await ledger.charge("r1", "ann", tokens(1000))
    row = await ledger.one("reserve", request_id="r2", account_id="ann", amounts=tokens(1))
    assert row.body["retry_after_ms"] == 1500
    assert row.headers["Retry-After"] == "2"


@pytest.mark.parametrize(("left", "told"), [(0.5, 1), (1.0, 1), (1.001, 2), (1.5, 2)])
async def test_an_instant_between_two_milliseconds_is_rounded_up(ledger, clock, left, told):
    clock.set("2026-09-15T00:00:00Z")
    clock.advance(milliseconds=-left)
    await ledger.grant("ann", window=DAY)
    await ledger.charge("r1", "ann", tokens(1000))
    denial = await ledger.reserve("r2", "ann", tokens(1))
    assert denial["retry_after_ms"] == told


async def test_a_raised_limit_next_window_is_what_a_retry_will_meet(ledger, clock):
    await ledger.grant("ann", 100, window=DAY)
    await ledger.charge("r1", "ann", tokens(100))
    await ledger.grant("ann", 500, window=DAY, apply="next_window")
    denial = await ledger.reserve("r2", "ann", tokens(50))
    assert denial["retry_after_ms"] == 12 * 3600 * 1000
    await assert_fits_exactly_then(ledger, clock, denial, 50)


async def test_with_alternatives_too_what_fits_the_next_window_is_exhausted_now(ledger, clock):
    await ledger.grant("ann", 100, window=DAY)
    await ledger.charge("c1", "ann", tokens(1))
    await ledger.grant("ann", 500, window=DAY, apply="next_window")
    denial = await ledger.reserve(
        "r1", "ann", tokens(400), alternatives=[{"amounts": tokens(300)}, {"amounts": tokens(900)}]
    )
    assert_denied(denial, "budget_exhausted", retry_after_ms=12 * 3600 * 1000)
    never = await ledger.reserve("r2", "ann", tokens(700), alternatives=[{"amounts": tokens(600)}])
    assert_denied(never, "exceeds_limit", retry_after_ms=None)


async def test_the_wait_is_exact_where_more_than_256_leases_have_to_lapse(ledger, clock):
    await ledger.grant("ann", 600, on_expiry="release")
    for n in range(3):
        items = [
            {
                "request_id": f"{n}-{m}",
                "account_id": "ann",
                "amounts": tokens(1),
                "ttl_seconds": 60 + n,
            }
            for m in range(200)
        ]
        await ledger.many("reserve", items)
    assert (await ledger.reserve("a", "ann", tokens(1)))["retry_after_ms"] == 60_000
    assert (await ledger.reserve("b", "ann", tokens(201)))["retry_after_ms"] == 61_000
    assert (await ledger.reserve("c", "ann", tokens(600)))["retry_after_ms"] == 62_000
