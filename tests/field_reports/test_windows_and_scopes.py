"""Field reports D, E and H: windows in the wrong zone, scopes that tell too much."""

import hashlib
import json

import pytest

from tests.support.checks import assert_denied, assert_problem, at
from tests.support.money import (
    CENT,
    DAY,
    DOLLAR,
    MONTH,
    budget,
    calendar,
    cycle,
    fixed,
    tokens,
    usd,
)
from tests.support.session import Figures


async def test_d1_in_tokyo_august_begins_while_it_is_july_in_greenwich(ledger, clock):
    """D1: Asia/Tokyo, calendar month; reserve at 2026-07-31T15:00:00Z."""
    await ledger.put_account("ann", time_zone="Asia/Tokyo")
    await ledger.grant("ann", window=MONTH)
    clock.set("2026-07-31T15:00:00Z")
    (line,) = (await ledger.reserve("r1", "ann", tokens(1)))["lines"]
    assert line["window"] == "2026-08"


async def test_d2_in_amsterdam_days_have_25_and_23_hours_when_the_clocks_change(ledger, clock):
    """D2: Europe/Amsterdam, calendar day; 2026-10-25 and 2026-03-29."""
    await ledger.put_account("ann", time_zone="Europe/Amsterdam")
    await ledger.grant("ann", window=DAY)
    for day, hours in (("2026-03-29", 23), ("2026-10-25", 25)):
        clock.set(f"{day}T12:00:00Z")
        window = await ledger.window("ann")
        length = at(window["ends_at"]) - at(window["starts_at"])
        assert (window["window"], length.total_seconds()) == (day, hours * 3600)


async def test_d3_cycles_of_the_31st_end_on_the_last_day_of_short_months(ledger, clock):
    """D3: cycle anchor 2026-01-31."""
    await ledger.put_account("ann", cycle_anchor="2026-01-31")
    await ledger.grant("ann", window=cycle())
    ends = []
    clock.set("2026-01-31T00:00:00Z")
    for _ in range(3):
        ends.append((await ledger.window("ann"))["ends_at"][:10])
        clock.set(f"{ends[-1]}T00:00:00Z")
    assert ends == ["2026-02-28", "2026-03-31", "2026-04-30"]


async def test_d5_a_monthly_budget_added_later_starts_at_zero(ledger, clock):
    """D5: an account with lifetime spend; a monthly budget is added."""
    await ledger.grant("ann", 10_000, "ever")
    await ledger.charge("c1", "ann", tokens(700))
    await ledger.grant("ann", 1000, "monthly", window=MONTH)
    assert await ledger.figures("ann", "monthly") == Figures(0, 0, 1000)
    assert (await ledger.figures("ann", "ever")).settled == 700


async def test_d8_resets_at_is_the_windows_end(ledger, clock):
    """D8: window exhausted; denial."""
    await ledger.grant("ann", window=MONTH)
    await ledger.charge("c1", "ann", tokens(1000))
    reply = await ledger.reserve("r1", "ann", tokens(1))
    assert at(reply["resets_at"]) == at("2026-10-01T00:00:00Z")


@pytest.mark.parametrize(
    ("window", "resets_at"),
    [
        (calendar("hour"), "2026-09-14T13:00:00Z"),
        (DAY, "2026-09-15T00:00:00Z"),
        (calendar("week"), "2026-09-21T00:00:00Z"),
        (calendar("quarter"), "2026-10-01T00:00:00Z"),
        (calendar("year"), "2027-01-01T00:00:00Z"),
        (cycle(), "2026-09-20T00:00:00Z"),
        (cycle("year"), "2027-01-20T00:00:00Z"),
        (fixed(90), "2026-09-14T12:01:30Z"),
    ],
    ids=str,
)
async def test_d8_so_it_is_for_every_kind_of_window_that_ends(ledger, clock, window, resets_at):
    await ledger.put_account("ann", cycle_anchor="2026-01-20")
    await ledger.grant("ann", window=window)
    await ledger.charge("c1", "ann", tokens(1000))
    row = await ledger.one("reserve", request_id="r1", account_id="ann", amounts=tokens(1))
    assert at(row.body["resets_at"]) == at(resets_at)
    seconds = int((at(resets_at) - clock.now).total_seconds())
    assert row.body["retry_after_ms"] == seconds * 1000
    assert row.headers["Retry-After"] == str(seconds)


async def test_d10_what_was_spent_over_the_day_does_not_trickle_back(ledger, clock):
    """D10: L=$1 per calendar day; ten settles of $0.10 over the day."""
    await ledger.grant("ann", DOLLAR, unit="usd_nano", window=DAY)
    clock.set("2026-09-14T00:00:00Z")
    for n in range(10):
        await ledger.reserve(f"r{n}", "ann", usd(10 * CENT))
        await ledger.settle(f"r{n}", usd(10 * CENT))
        clock.advance(hours=2)
    clock.set("2026-09-14T23:59:59Z")
    assert await ledger.figures("ann") == Figures(DOLLAR, 0, 0)


async def test_d13_a_settlement_after_month_end_is_posted_to_the_old_month(ledger, clock):
    """D13: reserve 23:59:59, settle 00:00:05 next month."""
    await ledger.grant("ann", window=MONTH)
    clock.set("2026-09-30T23:59:59Z")
    await ledger.reserve("r1", "ann", tokens(400))
    clock.set("2026-10-01T00:00:05Z")
    (line,) = (await ledger.settle("r1", tokens(150)))["lines"]
    assert (line["window"], line["settled"]) == ("2026-09", 150)
    assert await ledger.figures("ann") == Figures(0, 0, 1000)


async def test_d14_raised_and_lowered_limits_keep_what_is_spent(ledger, clock):
    """D14: L=$10, S=$9, R=$1; raise to $20 now; lower to $5 now."""
    money = {"unit": "usd_nano", "window": MONTH}
    await ledger.grant("ann", 10 * DOLLAR, **money)
    await ledger.charge("c1", "ann", usd(9 * DOLLAR))
    await ledger.reserve("r1", "ann", usd(DOLLAR))
    await ledger.grant("ann", 20 * DOLLAR, **money)
    assert (await ledger.window("ann"))["available"] == 10 * DOLLAR
    await ledger.grant("ann", 5 * DOLLAR, **money)
    assert await ledger.figures("ann") == Figures(9 * DOLLAR, DOLLAR, -5 * DOLLAR)
    assert (await ledger.reserve("r2", "ann", usd(1)))["decision"] == "denied"


async def test_e1_the_second_team_is_denied_by_the_organisations_budget(ledger, clock):
    """E1: organisation L=$10, two teams L=$10 each; teams spend $6 and $6."""
    await ledger.grant("org", 10 * DOLLAR, unit="usd_nano")
    for team in ("red", "blue"):
        await ledger.put_account(team, parent_id="org")
        await ledger.grant(team, 10 * DOLLAR, unit="usd_nano")
    assert (await ledger.charge("c1", "red", usd(6 * DOLLAR)))["decision"] == "authorized"
    reply = await ledger.charge("c2", "blue", usd(6 * DOLLAR))
    assert_denied(reply, "budget_exhausted", scope="org", limit=10 * DOLLAR)
    assert (await ledger.window("blue"))["settled"] == 0


async def test_e3_a_denial_names_the_shared_scope_but_not_how_full_it_is(ledger, clock):
    """E3: key, team and root budgets; denial."""
    await ledger.grant("root", 10 * DOLLAR, "root-cap", unit="usd_nano", window=MONTH)
    await ledger.put_account("team", parent_id="root")
    await ledger.grant("team", 10 * DOLLAR, "team-cap", unit="usd_nano", window=MONTH)
    await ledger.put_account("key", parent_id="team")
    await ledger.grant("key", 10 * DOLLAR, "key-cap", unit="usd_nano", window=MONTH)
    await ledger.charge("c1", "root", usd(7_654_321_000))
    row = await ledger.one("reserve", request_id="r1", account_id="key", amounts=usd(3 * DOLLAR))
    assert_denied(
        row.body, "budget_exhausted", scope="root", budget="root-cap", window="2026-09",
        unit="usd_nano", limit=10 * DOLLAR,
    )  # fmt: skip
    said = json.dumps([row.body, row.headers])
    assert "7654321000" not in said
    assert str(10 * DOLLAR - 7_654_321_000) not in said
    assert not {"available", "affordable"} & set(row.body)


async def test_h3_one_settlement_over_three_thresholds_tells_three_once(ledger, clock):
    """H3: thresholds 80, 85, 95; S at 79 %; one settle to 96 %, whatever is retried."""
    await ledger.grant("ann", window=MONTH, thresholds=[80, 85, 95])
    await ledger.charge("c1", "ann", tokens(790))
    await ledger.reserve("r1", "ann", tokens(200))
    for _ in range(3):
        await ledger.settle("r1", tokens(170))
    await ledger.settle("r1", tokens(171))
    rows = await ledger.connection.fetch("select threshold from preauth.outbox order by message_id")
    assert [row["threshold"] for row in rows] == [80, 85, 95]


async def test_h6_a_key_bound_to_one_account_cannot_read_another(ledger, clock):
    """H6 at the ledger: balance within a subtree."""
    await ledger.put_plan("free", budget("cap", 100))
    for account in ("ann", "bob"):
        await ledger.put_account(account, plan_id="free")
    await ledger.call(
        "create_key", name="ann's", role="spend", account_id="ann",
        key_hash=hashlib.sha256(b"ann").digest(),
    )  # fmt: skip
    key = await ledger.call("key_by_hash", key_hash=hashlib.sha256(b"ann").digest())
    own = await ledger.call("balance", account_id="ann", within=key["account_id"])
    other = await ledger.call("balance", account_id="bob", within=key["account_id"])
    assert own["account_id"] == "ann"
    assert_problem(other, 403, "forbidden")
