"""Calendar windows: local midnights, whatever the clocks do."""

import pytest

from tests.support.checks import at
from tests.support.money import DAY, HOUR, MONTH, calendar, tokens


async def window_at(ledger, clock, zone, policy, instant):
    """The window that a reserve at that instant lands in."""
    clock.set(instant)
    await ledger.put_account("ann", time_zone=zone)
    await ledger.grant("ann", 10**6, window=policy)
    reply = await ledger.reserve(f"r-{instant}", "ann", tokens(1))
    assert reply["lines"][0]["window"] == (await ledger.window("ann"))["window"]
    return await ledger.window("ann")


def hours(window):
    return (at(window["ends_at"]) - at(window["starts_at"])).total_seconds() / 3600


@pytest.mark.parametrize(
    ("policy", "key", "starts", "ends"),
    [
        (HOUR, None, "2026-09-14T15:00:00Z", "2026-09-14T16:00:00Z"),
        (DAY, "2026-09-14", "2026-09-14T00:00:00Z", "2026-09-15T00:00:00Z"),
        (calendar("week"), "2026-W38", "2026-09-14T00:00:00Z", "2026-09-21T00:00:00Z"),
        (calendar("week", week_start="monday"), "2026-W38", "2026-09-14T00:00:00Z", "2026-09-21T00:00:00Z"),
        (calendar("week", week_start="sunday"), None, "2026-09-13T00:00:00Z", "2026-09-20T00:00:00Z"),
        (calendar("week", week_start="tuesday"), None, "2026-09-08T00:00:00Z", "2026-09-15T00:00:00Z"),
        (calendar("week", week_start="saturday"), None, "2026-09-12T00:00:00Z", "2026-09-19T00:00:00Z"),
        (MONTH, "2026-09", "2026-09-01T00:00:00Z", "2026-10-01T00:00:00Z"),
        (calendar("quarter"), "2026-Q3", "2026-07-01T00:00:00Z", "2026-10-01T00:00:00Z"),
        (calendar("quarter", year_start_month=2), None, "2026-08-01T00:00:00Z", "2026-11-01T00:00:00Z"),
        (calendar("quarter", year_start_month=12), None, "2026-09-01T00:00:00Z", "2026-12-01T00:00:00Z"),
        (calendar("year"), None, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        (calendar("year", year_start_month=4), None, "2026-04-01T00:00:00Z", "2027-04-01T00:00:00Z"),
        (calendar("year", year_start_month=10), None, "2025-10-01T00:00:00Z", "2026-10-01T00:00:00Z"),
    ],
    ids=str,
)  # fmt: skip
async def test_a_period_has_exact_ends(ledger, clock, policy, key, starts, ends):
    window = await window_at(ledger, clock, "UTC", policy, "2026-09-14T15:16:17Z")
    assert (at(window["starts_at"]), at(window["ends_at"])) == (at(starts), at(ends))
    assert at(window["resets_at"]) == at(ends)
    assert window["time_zone"] == "UTC"
    assert key is None or window["window"] == key


@pytest.mark.parametrize(
    ("zone", "policy", "instant", "key"),
    [
        ("Asia/Tokyo", MONTH, "2026-07-31T15:00:00Z", "2026-08"),
        ("Asia/Tokyo", MONTH, "2026-07-31T14:59:59Z", "2026-07"),
        ("America/Los_Angeles", DAY, "2026-01-01T07:59:59Z", "2025-12-31"),
        ("America/Los_Angeles", DAY, "2026-01-01T08:00:00Z", "2026-01-01"),
        ("Pacific/Kiritimati", MONTH, "2026-08-31T10:00:00Z", "2026-09"),
        ("Asia/Kathmandu", DAY, "2026-09-14T18:15:00Z", "2026-09-15"),
        ("America/St_Johns", DAY, "2010-11-07T03:00:00Z", "2010-11-07"),
        ("UTC", calendar("week"), "2021-01-03T12:00:00Z", "2020-W53"),
        ("UTC", calendar("week"), "2024-12-30T00:00:00Z", "2025-W01"),
        ("UTC", MONTH, "2024-02-29T23:59:59.999999Z", "2024-02"),
        ("Europe/London", calendar("quarter"), "2026-06-30T23:00:00Z", "2026-Q3"),
    ],
)
async def test_a_period_is_named_in_the_accounts_zone(ledger, clock, zone, policy, instant, key):
    assert (await window_at(ledger, clock, zone, policy, instant))["window"] == key
    assert await ledger.count("budget_window") == 1, "no other was made on the way"


@pytest.mark.parametrize(
    ("zone", "instant", "length"),
    [
        ("Europe/Amsterdam", "2026-10-25T12:00:00Z", 25),
        ("Europe/Amsterdam", "2026-03-29T12:00:00Z", 23),
        ("Europe/Amsterdam", "2026-03-30T12:00:00Z", 24),
        ("Australia/Lord_Howe", "2026-04-05T00:00:00Z", 24.5),
        ("Australia/Lord_Howe", "2026-10-04T00:00:00Z", 23.5),
        ("America/Havana", "2025-11-02T12:00:00Z", 25),
        ("America/Havana", "2025-03-09T12:00:00Z", 23),
        ("Africa/Cairo", "2024-04-26T12:00:00Z", 23),
        ("Asia/Beirut", "2025-03-30T12:00:00Z", 23),
        ("Pacific/Apia", "2011-12-30T09:59:59Z", 24),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", 24),
    ],
)
async def test_a_day_is_as_long_as_the_clocks_make_it(ledger, clock, zone, instant, length):
    assert hours(await window_at(ledger, clock, zone, DAY, instant)) == length


@pytest.mark.parametrize(
    ("zone", "instant", "starts"),
    [
        # clocks go from 00:00 to 01:00: the day begins at 01:00
        ("Africa/Cairo", "2024-04-26T12:00:00Z", "2024-04-25T22:00:00Z"),
        ("Asia/Beirut", "2025-03-30T12:00:00Z", "2025-03-29T22:00:00Z"),
        ("America/Havana", "2025-03-09T12:00:00Z", "2025-03-09T05:00:00Z"),
        # clocks go from 01:00 back to 00:00: the day begins at the first of two midnights
        ("America/Havana", "2025-11-02T04:00:00Z", "2025-11-02T04:00:00Z"),
        ("America/Havana", "2025-11-02T05:30:00Z", "2025-11-02T04:00:00Z"),
        # 30 December 2011 did not take place
        ("Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"),
    ],
)
async def test_a_day_begins_at_its_first_instant(ledger, clock, zone, instant, starts):
    window = await window_at(ledger, clock, zone, DAY, instant)
    assert at(window["starts_at"]) == at(starts)


async def test_the_day_after_a_skipped_day_has_its_own_name(ledger, clock):
    before = await window_at(ledger, clock, "Pacific/Apia", DAY, "2011-12-30T09:59:59Z")
    after = await window_at(ledger, clock, "Pacific/Apia", DAY, "2011-12-30T10:00:00Z")
    assert (before["window"], after["window"]) == ("2011-12-29", "2011-12-31")


async def test_both_passes_of_a_repeated_midnight_share_one_day(ledger, clock):
    first = await window_at(ledger, clock, "America/Havana", DAY, "2025-11-02T04:10:00Z")
    again = await window_at(ledger, clock, "America/Havana", DAY, "2025-11-02T05:10:00Z")
    assert first["window"] == again["window"] == "2025-11-02"
    assert again["reserved"] == 2


async def test_st_johns_2010_has_no_gap_where_clocks_went_back_over_midnight(ledger, clock):
    """At 00:01 on 7 November the clocks went back to 23:01 on the 6th."""
    seen = []
    for minute in range(-90, 91, 5):
        instant = f"2010-11-07T{2 + (31 + minute) // 60:02}:{(31 + minute) % 60:02}:00Z"
        window = await window_at(ledger, clock, "America/St_Johns", DAY, instant)
        assert at(window["starts_at"]) <= clock.now < at(window["ends_at"])
        seen.append((window["window"], at(window["starts_at"]), at(window["ends_at"])))
    days = list(dict.fromkeys(seen))
    assert [day[0] for day in days] == ["2010-11-06", "2010-11-07"]
    assert days[0][2] == days[1][1]


async def test_after_a_change_of_zone_now_is_still_inside_its_window(ledger, clock):
    clock.set("2026-09-14T12:00:00Z")
    await ledger.grant("ann", window=DAY)
    await ledger.put_account("ann", time_zone="Asia/Tokyo")
    window = await ledger.window("ann")
    assert at(window["starts_at"]) <= clock.now < at(window["ends_at"])
