"""Rolling windows: the last so many seconds, in slices that count until they have wholly aged out."""

import pytest

from tests.support.checks import assert_denied, assert_same
from tests.support.money import LIFETIME, MAX_AMOUNT, rolling, tokens
from tests.support.session import Figures

MINUTE = rolling(60, 6)
"""Six slices of ten seconds; test clocks start at the beginning of one."""


@pytest.fixture
async def ann(ledger, clock):
    """An account with 1000 tokens a minute."""
    await ledger.grant("ann", window=MINUTE)
    return ledger


async def slices(ledger):
    return await ledger.connection.fetch(
        "select extract(epoch from ages_at - (select at from test_clock.now))::integer as ages_in, settled"
        " from preauth.window_slice order by ages_at"
    )


async def test_it_is_one_window_without_ends(ann):
    await ann.charge("c", "ann", tokens(400))
    window = await ann.window("ann")
    assert window["window"] == "rolling"
    assert (window["starts_at"], window["ends_at"], window["resets_at"]) == (None, None, None)
    assert await ann.count("budget_window") == 1


@pytest.mark.parametrize("offset", [0, 0.000001, 3, 9.999999])
async def test_a_slice_counts_until_it_has_wholly_aged_out(ann, clock, offset):
    """Spent anywhere in the slice of 12:00:00 to 12:00:10, it counts until 12:01:10."""
    clock.advance(seconds=offset)
    await ann.charge("c", "ann", tokens(400))
    clock.set("2026-09-14T12:01:09.999999Z")
    assert await ann.figures("ann") == Figures(400, 0, 600)
    clock.set("2026-09-14T12:01:10Z")
    assert await ann.figures("ann") == Figures(0, 0, 1000)


async def test_what_has_aged_out_is_free_though_nothing_was_written_since(ann, clock):
    await ann.charge("c", "ann", tokens(1000))
    before = await ann.contents()
    clock.advance(seconds=70)
    assert await ann.figures("ann") == Figures(0, 0, 1000)
    assert await ann.contents() == before
    assert (await ann.reserve("r", "ann", tokens(1000)))["decision"] == "authorized"


async def test_slices_age_out_one_by_one(ann, clock):
    for n in range(6):
        await ann.charge(f"c{n}", "ann", tokens(100))
        clock.advance(seconds=10)
    seen = []
    for _ in range(8):
        seen.append((await ann.figures("ann")).settled)
        clock.advance(seconds=10)
    assert seen == [600, 500, 400, 300, 200, 100, 0, 0]


async def test_a_hold_counts_until_it_is_settled_however_long_that_takes(ann, clock):
    await ann.reserve("r", "ann", tokens(700), ttl_seconds=86400)
    clock.advance(seconds=600)
    assert await ann.figures("ann") == Figures(0, 700, 300)
    assert_denied(await ann.reserve("r2", "ann", tokens(301)), "budget_exhausted", available=300)


async def test_a_settlement_goes_to_the_slice_of_its_own_instant(ann, clock):
    await ann.reserve("r", "ann", tokens(700))
    clock.advance(seconds=45)
    (line,) = (await ann.settle("r", tokens(500)))["lines"]
    assert (line["window"], line["settled"], line["available"]) == ("rolling", 500, 500)
    clock.advance(seconds=64)
    assert (await ann.figures("ann")).settled == 500
    clock.advance(seconds=1)
    assert (await ann.figures("ann")).settled == 0


async def test_a_settlements_figures_leave_out_what_has_aged_out(ann, clock):
    await ann.charge("old", "ann", tokens(300))
    await ann.reserve("r", "ann", tokens(200), ttl_seconds=600)
    clock.advance(seconds=70)
    (line,) = (await ann.settle("r", tokens(150)))["lines"]
    assert (line["settled"], line["reserved"], line["available"]) == (150, 0, 850)


async def test_an_authorization_and_a_release_tell_what_is_available_at_their_instant(ann, clock):
    await ann.charge("old", "ann", tokens(300))
    clock.advance(seconds=70)
    (held,) = (await ann.reserve("r", "ann", tokens(200)))["lines"]
    assert held["available"] == 800
    clock.advance(seconds=70)
    (given,) = (await ann.release("r"))["lines"]
    assert given["available"] == 1000


async def test_replays_tell_the_first_answer_and_todays_headers(ann, clock):
    await ann.charge("old", "ann", tokens(300))
    first = await ann.one("reserve", request_id="r", account_id="ann", amounts=tokens(200))
    assert first.headers["RateLimit"].startswith('"cap";r=500')
    clock.advance(seconds=70)
    again = await ann.one("reserve", request_id="r", account_id="ann", amounts=tokens(200))
    assert_same(first.body, again.body)
    assert again.headers["RateLimit"].startswith('"cap";r=800')


async def test_a_late_settlement_goes_to_the_slice_of_its_own_instant(ledger, clock):
    await ledger.grant("ann", window=MINUTE, on_expiry="release")
    await ledger.reserve("r", "ann", tokens(700), ttl_seconds=5)
    clock.advance(seconds=30)
    assert (await ledger.settle("r", tokens(700)))["late"] is True
    clock.advance(seconds=69)
    assert (await ledger.figures("ann")).settled == 700
    clock.advance(seconds=1)
    assert (await ledger.figures("ann")).settled == 0


async def test_a_hold_charged_when_its_time_has_passed_goes_to_the_slice_of_the_sweep(
    ledger, clock
):
    await ledger.grant("ann", window=MINUTE, on_expiry="charge")
    await ledger.reserve("r", "ann", tokens(700), ttl_seconds=5)
    clock.advance(seconds=30)
    assert await ledger.expire() == 1
    clock.advance(seconds=69)
    assert (await ledger.figures("ann")).settled == 700
    clock.advance(seconds=1)
    assert (await ledger.figures("ann")).settled == 0


async def test_a_slice_is_one_row_and_goes_when_it_has_aged_out(ann, clock):
    for n in range(20):
        await ann.charge(f"a{n}", "ann", tokens(1))
    assert [tuple(row) for row in await slices(ann)] == [(70, 20)]
    for n in range(40):
        clock.advance(seconds=10)
        await ann.charge(f"b{n}", "ann", tokens(1))
        assert await ann.count("window_slice") <= 7


async def test_spending_nothing_makes_no_slice(ann):
    await ann.reserve("r", "ann", tokens(10))
    await ann.settle("r", tokens(0))
    assert await ann.count("window_slice") == 0


async def test_an_overage_counts_and_ages_like_all_spend(ann, clock):
    await ann.reserve("r", "ann", tokens(10))
    await ann.settle("r", tokens(1500))
    assert await ann.figures("ann") == Figures(1500, 0, -500)
    clock.advance(seconds=70)
    assert await ann.figures("ann") == Figures(0, 0, 1000)


async def test_an_hour_of_denied_traffic_alone_frees_capacity(ledger, clock):
    await ledger.grant("ann", window=rolling(3600, 60))
    await ledger.charge("all", "ann", tokens(1000))
    for minute in range(61):
        reply = await ledger.reserve(f"r{minute}", "ann", tokens(1000))
        assert_denied(reply, "budget_exhausted", available=0)
        clock.advance(minutes=1)
    assert (await ledger.reserve("r", "ann", tokens(1000)))["decision"] == "authorized"


async def test_a_shared_rolling_window_counts_all_below_it(ledger, clock):
    await ledger.grant("org", window=MINUTE)
    for name in ("ann", "bob"):
        await ledger.put_account(name, parent_id="org")
        await ledger.charge("c", name, tokens(500))
    assert_denied(await ledger.charge("d", "bob", tokens(1)), "budget_exhausted", scope="org")
    clock.advance(seconds=70)
    assert (await ledger.charge("e", "bob", tokens(1)))["decision"] == "authorized"


async def test_charges_of_one_batch_share_the_slice_and_the_limit(ann, clock):
    items = [{"request_id": f"c{n}", "account_id": "ann", "amounts": tokens(300)} for n in range(5)]
    rows = await ann.many("charge", items)
    assert [row.status for row in rows] == [200, 200, 200, 429, 429]
    assert [tuple(row) for row in await slices(ann)] == [(70, 900)]


async def test_the_limit_of_a_rolling_window_changes_at_once(ann, clock):
    await ann.charge("c", "ann", tokens(900))
    await ann.grant("ann", 500, window=MINUTE)
    assert await ann.figures("ann") == Figures(900, 0, -400)
    clock.advance(seconds=70)
    assert await ann.figures("ann") == Figures(0, 0, 500)


async def test_another_period_or_other_slices_begin_at_nothing(ann):
    await ann.charge("c", "ann", tokens(900))
    await ann.grant("ann", window=rolling(60, 12))
    assert await ann.figures("ann") == Figures(0, 0, 1000)


async def test_a_window_of_one_slice_and_one_of_milliseconds(ledger, clock):
    await ledger.grant("ann", 10, "one", window=rolling(1, 1))
    await ledger.grant("ann", 10, "many", window=rolling(1, 1000))
    await ledger.charge("c", "ann", tokens(10))
    clock.advance(milliseconds=1000)
    assert (await ledger.figures("ann", "many")).settled == 10
    clock.advance(milliseconds=1)
    assert (await ledger.figures("ann", "many")).settled == 0
    assert (await ledger.figures("ann", "one")).settled == 10
    clock.advance(milliseconds=999)
    assert (await ledger.figures("ann", "one")).settled == 0


async def test_the_longest_window_ages_to_the_microsecond(ledger, clock):
    await ledger.grant("ann", None, window=rolling(31_622_400, 1000))
    await ledger.charge("c", "ann", tokens(MAX_AMOUNT))
    ages_at = await ledger.connection.fetchval("select ages_at from preauth.window_slice")
    length = 31_622.4
    start = clock.now.timestamp() // length * length
    assert ages_at.timestamp() == pytest.approx(start + 31_622_400 + length, abs=1e-6)


async def test_a_correction_takes_from_the_eldest_slices_first(ann, clock):
    for n in range(3):
        await ann.charge(f"c{n}", "ann", tokens(100))
        clock.advance(seconds=10)
    await correct(ann, -150)
    assert [row["settled"] for row in await slices(ann)] == [0, 50, 100]
    clock.advance(seconds=50)
    assert (await ann.figures("ann")).settled == 100


async def test_after_a_reset_nothing_is_owed_when_the_old_spend_ages_out(ann, clock):
    await ann.charge("c", "ann", tokens(900))
    clock.advance(seconds=30)
    await correct(ann, -900)
    assert await ann.figures("ann") == Figures(0, 0, 1000)
    clock.advance(seconds=45)
    assert await ann.figures("ann") == Figures(0, 0, 1000)


async def test_a_credit_above_what_is_spent_lasts_one_period(ann, clock):
    await ann.charge("c", "ann", tokens(100))
    clock.advance(seconds=30)
    await correct(ann, -150)
    assert await ann.figures("ann") == Figures(-50, 0, 1050)
    clock.advance(seconds=69)
    assert await ann.figures("ann") == Figures(-50, 0, 1050)
    clock.advance(seconds=1)
    assert await ann.figures("ann") == Figures(0, 0, 1000)


async def test_an_added_amount_ages_from_its_own_instant(ann, clock):
    await ann.charge("c", "ann", tokens(0))
    clock.advance(seconds=30)
    await correct(ann, 250)
    clock.advance(seconds=69)
    assert (await ann.figures("ann")).settled == 250
    clock.advance(seconds=1)
    assert (await ann.figures("ann")).settled == 0


async def test_a_lifetime_window_is_corrected_by_the_same_function(ledger, clock):
    await ledger.grant("ann", window=LIFETIME)
    await ledger.charge("c", "ann", tokens(900))
    await correct(ledger, -300)
    assert await ledger.figures("ann") == Figures(600, 0, 400)


async def correct(ledger, amount):
    """An adjustment as administration makes it: the window moves, and an event says so."""
    async with ledger.connection.transaction():
        window_id = await ledger.connection.fetchval(
            "select max(window_id) from preauth.budget_window"
        )
        await ledger.connection.execute(
            "select from preauth._lock_windows(array[$1::bigint])", window_id
        )
        await ledger.connection.execute(
            "select preauth._correct_settled($1, $2, preauth._now())", window_id, amount
        )
        await ledger.connection.execute(
            "insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor)"
            " values ('ann', $1, 'adjustment', $2, $3, preauth._now(), 'test')",
            f"adjustment {amount}", window_id, tokens(amount),
        )  # fmt: skip
