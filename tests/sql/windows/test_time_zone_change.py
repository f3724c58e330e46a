"""When an account's time zone changes, the current window keeps its end and the next begins there."""

from itertools import pairwise

import pytest

from tests.support.checks import assert_denied
from tests.support.money import MONTH, budget, calendar, tokens

ZONES = (
    "Europe/London",
    "UTC",
    "Asia/Tokyo",
    "America/New_York",
    "Pacific/Kiritimati",
    "Pacific/Niue",
)


async def windows(ledger):
    return await ledger.connection.fetch(
        "select window_key, starts_at, ends_at from preauth.budget_window order by starts_at"
    )


async def moved(ledger, clock, before: str, after: str):
    """An account that spent 900 of 1000 in May in one zone, and lives in another since."""
    clock.set("2027-05-10T12:00:00Z")
    await ledger.put_plan("p", budget("m", 1000, window=MONTH))
    await ledger.put_account("ann", plan_id="p", time_zone=before)
    await ledger.charge("may", "ann", tokens(900))
    await ledger.put_account("ann", time_zone=after)


@pytest.mark.parametrize("after", ZONES)
@pytest.mark.parametrize("before", ZONES)
async def test_no_month_is_given_twice_and_no_instant_is_in_two_windows(
    ledger, clock, before, after
):
    await moved(ledger, clock, before, after)
    end = (await windows(ledger))[0]["ends_at"]
    clock.set(end)
    await ledger.charge("june", "ann", tokens(900))
    found = await windows(ledger)
    assert [w["window_key"] for w in found] == ["2027-05", "2027-06"]
    assert found[1]["starts_at"] == end


async def test_until_its_end_the_current_window_counts(ledger, clock):
    await moved(ledger, clock, "UTC", "Asia/Tokyo")
    clock.set("2027-05-31T23:59:59Z")
    assert_denied(
        await ledger.reserve("r", "ann", tokens(900)), "budget_exhausted", window="2027-05"
    )


async def test_a_balance_tells_the_window_that_the_next_spend_will_make(ledger, clock):
    await moved(ledger, clock, "Asia/Tokyo", "UTC")
    clock.set("2027-05-31T15:00:00Z")
    told = (await ledger.call("balance", account_id="ann"))["windows"][0]
    await ledger.charge("june", "ann", tokens(1))
    made = (await ledger.call("balance", account_id="ann"))["windows"][0]
    bounds = ("window", "starts_at", "ends_at")
    assert [told[name] for name in bounds] == [made[name] for name in bounds]
    assert told["starts_at"] == "2027-05-31T15:00:00.000000Z"


async def test_where_old_and_new_month_begin_together_the_next_call_still_returns(ledger, clock):
    clock.set("2027-03-10T12:00:00Z")
    await ledger.put_plan("p", budget("m", 1000, window=MONTH))
    await ledger.put_account("ann", plan_id="p", time_zone="Europe/London")
    await ledger.charge("march", "ann", tokens(900))
    await ledger.put_account("ann", time_zone="UTC")
    clock.set("2027-03-31T23:30:00Z")
    reply = await ledger.charge("april", "ann", tokens(900))
    assert reply["lines"][0]["window"] == "2027-04"


async def test_no_day_comes_twice_after_a_flight_across_the_date_line(ledger, clock):
    clock.set("2027-05-10T05:00:00Z")  # the 10th in Kiritimati, the 9th in Niue
    await ledger.put_plan("p", budget("d", 1000, window=calendar("day")))
    await ledger.put_account("ann", plan_id="p", time_zone="Pacific/Kiritimati")
    for hours in (0, 24):
        clock.set("2027-05-10T05:00:00Z")
        clock.advance(hours=hours)
        await ledger.charge(f"c{hours}", "ann", tokens(900))
    await ledger.put_account("ann", time_zone="Pacific/Niue")
    for hours in (6, 26, 50):
        clock.set("2027-05-11T05:00:00Z")
        clock.advance(hours=hours)
        await ledger.charge(f"d{hours}", "ann", tokens(900))
    found = await windows(ledger)
    keys = [w["window_key"] for w in found]
    assert len(set(keys)) == len(keys), keys
    assert all(w["ends_at"] <= n["starts_at"] for w, n in pairwise(found))


async def test_an_hour_whose_name_comes_again_in_another_zone_is_joined_to_the_next(ledger, clock):
    clock.set("2027-05-10T15:30:00Z")  # two in the morning of the 11th in Lord Howe
    await ledger.put_plan("p", budget("h", 1000, window=calendar("hour")))
    await ledger.put_account("ann", plan_id="p", time_zone="Australia/Lord_Howe")
    await ledger.charge("there", "ann", tokens(900))
    await ledger.put_account("ann", time_zone="UTC")
    clock.set("2027-05-11T02:00:00Z")
    await ledger.charge("here", "ann", tokens(900))
    found = await windows(ledger)
    assert [w["window_key"] for w in found] == ["2027-05-11T02", "2027-05-11T03"]
    assert str(found[1]["starts_at"]) == "2027-05-11 02:00:00+00:00"
    assert str(found[1]["ends_at"]) == "2027-05-11 04:00:00+00:00"
