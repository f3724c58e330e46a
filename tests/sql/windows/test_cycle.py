"""Billing cycles: a month or a year from the account's cycle_anchor."""

import pytest

from tests.support.checks import at
from tests.support.money import budget, cycle, tokens


async def account(ledger, anchor, zone="UTC", window=None):
    await ledger.put_account("ann", cycle_anchor=anchor, time_zone=zone)
    await ledger.grant("ann", window=window or cycle())


async def cycle_at(ledger, clock, instant):
    """The window that an instant is in, as a balance tells it and as a spend makes it."""
    clock.set(instant)
    told = await ledger.window("ann")
    await ledger.charge(f"c-{instant}", "ann", tokens(1))
    made = await ledger.window("ann")
    bounds = ("window", "starts_at", "ends_at", "resets_at")
    assert [told[name] for name in bounds] == [made[name] for name in bounds]
    return made["window"], at(made["starts_at"]), at(made["ends_at"])


@pytest.mark.parametrize(
    ("anchor", "window", "instant", "starts", "ends"),
    [
        ("2026-09-17", cycle(), "2026-09-16T23:59:59.999999Z", "2026-08-17", "2026-09-17"),
        ("2026-09-17", cycle(), "2026-09-17T00:00:00Z", "2026-09-17", "2026-10-17"),
        ("2026-01-31", cycle(), "2026-02-27T12:00:00Z", "2026-01-31", "2026-02-28"),
        ("2026-01-31", cycle(), "2026-02-28T00:00:00Z", "2026-02-28", "2026-03-31"),
        ("2026-01-31", cycle(), "2026-04-30T00:00:00Z", "2026-04-30", "2026-05-31"),
        ("2026-01-31", cycle(), "2028-02-29T00:00:00Z", "2028-02-29", "2028-03-31"),
        ("2026-01-30", cycle(), "2027-02-28T12:00:00Z", "2027-02-28", "2027-03-30"),
        ("2026-01-29", cycle(), "2028-02-29T12:00:00Z", "2028-02-29", "2028-03-29"),
        ("2028-02-29", cycle("year"), "2028-02-28T12:00:00Z", "2027-02-28", "2028-02-29"),
        ("2028-02-29", cycle("year"), "2029-02-28T12:00:00Z", "2029-02-28", "2030-02-28"),
        ("2028-02-29", cycle("year"), "2032-02-29T00:00:00Z", "2032-02-29", "2033-02-28"),
        ("2026-12-31", cycle("year"), "2027-01-01T00:00:00Z", "2026-12-31", "2027-12-31"),
        ("2030-05-05", cycle(), "2026-09-14T12:00:00Z", "2026-09-05", "2026-10-05"),
        ("1999-05-05", cycle("year"), "2026-05-04T12:00:00Z", "2025-05-05", "2026-05-05"),
    ],
)  # fmt: skip
async def test_a_cycle_begins_on_the_anchors_day_or_the_months_last(
    ledger, clock, anchor, window, instant, starts, ends
):
    await account(ledger, anchor, window=window)
    found = await cycle_at(ledger, clock, instant)
    assert found == (f"cycle:{starts}", at(f"{starts}T00:00:00Z"), at(f"{ends}T00:00:00Z"))


@pytest.mark.parametrize(
    ("zone", "instant", "starts", "ends"),
    [
        ("Asia/Tokyo", "2026-09-16T15:00:00Z", "2026-09-16T15:00:00Z", "2026-10-16T15:00:00Z"),
        # summer time ends within the cycle
        ("America/New_York", "2026-10-17T04:00:00Z", "2026-10-17T04:00:00Z", "2026-11-17T05:00:00Z"),
        ("Pacific/Kiritimati", "2026-09-16T09:59:59Z", "2026-08-16T10:00:00Z", "2026-09-16T10:00:00Z"),
        ("Pacific/Niue", "2026-09-17T10:59:59Z", "2026-08-17T11:00:00Z", "2026-09-17T11:00:00Z"),
    ],
)  # fmt: skip
async def test_a_cycle_begins_at_local_midnight(ledger, clock, zone, instant, starts, ends):
    await account(ledger, "2026-01-17", zone)
    assert (await cycle_at(ledger, clock, instant))[1:] == (at(starts), at(ends))


async def test_a_cycle_that_begins_where_midnight_is_skipped_begins_at_the_jump(ledger, clock):
    """In Cairo clocks went from 00:00 to 01:00 on 26 April 2024."""
    await account(ledger, "2024-01-26", "Africa/Cairo")
    _, starts, _ = await cycle_at(ledger, clock, "2024-04-26T12:00:00Z")
    assert starts == at("2024-04-25T22:00:00Z")


async def test_without_an_anchor_cycles_count_from_the_day_the_account_was_made(ledger, clock):
    clock.set("2026-05-31T23:30:00Z")
    await account(ledger, None, "Europe/Amsterdam")
    assert (await cycle_at(ledger, clock, "2026-06-30T22:00:00Z"))[0] == "cycle:2026-07-01"


async def test_a_month_is_meant_unless_a_year_is_said(ledger, clock):
    reply = await ledger.put_plan("p", budget("cap", window={"kind": "cycle"}))
    assert reply["budgets"][0]["window"] == cycle("month")


async def test_each_account_of_a_plan_has_its_own_cycles(ledger, clock):
    await ledger.put_plan("p", budget("cap", window=cycle()))
    for account_id, anchor in (("ann", "2026-09-01"), ("bob", "2026-09-14")):
        await ledger.put_account(account_id, plan_id="p", cycle_anchor=anchor)
        reply = await ledger.charge("c", account_id, tokens(1))
        assert reply["lines"][0]["window"] == f"cycle:{anchor}"


@pytest.mark.parametrize("anchor", ["2026-09-30", "2026-09-10", "2026-09-14", "2025-02-28", None])
async def test_after_a_change_of_anchor_the_current_cycle_keeps_its_end(ledger, clock, anchor):
    await account(ledger, "2026-09-12")
    before = await cycle_at(ledger, clock, "2026-09-14T12:00:00Z")
    await ledger.put_account("ann", cycle_anchor=anchor)
    assert (await cycle_at(ledger, clock, "2026-10-11T23:59:59Z")) == before
    after = await cycle_at(ledger, clock, "2026-10-12T00:00:00Z")
    assert after[1] == before[2]
    assert after[1] < after[2] <= at("2026-11-14T00:00:00Z")


async def test_the_retry_and_the_reset_of_a_spent_cycle_are_its_end(ledger, clock):
    await account(ledger, "2026-01-31")
    clock.set("2027-02-27T00:00:00Z")
    await ledger.charge("c", "ann", tokens(1000))
    denial = await ledger.reserve("r", "ann", tokens(1))
    assert denial["retry_after_ms"] == 24 * 3600 * 1000
    assert at(denial["resets_at"]) == at("2027-02-28T00:00:00Z")
    assert denial["window"] == "cycle:2027-01-31"


@pytest.mark.parametrize(
    ("instant", "name"),
    [
        ("2010-11-07T02:29:59Z", "2010-10-07"),
        ("2010-11-07T02:30:00Z", "2010-11-07"),
        ("2010-11-07T03:00:00Z", "2010-11-07"),  # 23:30 on the 6th, once more
        ("2010-11-07T03:30:00Z", "2010-11-07"),
    ],
)
async def test_a_cycle_that_begins_where_midnight_comes_twice_begins_at_the_first(
    ledger, clock, instant, name
):
    """In St John's clocks went from 00:01 on 7 November 2010 back to 23:01 of the day before."""
    await account(ledger, "2010-01-07", "America/St_Johns")
    found, starts, ends = await cycle_at(ledger, clock, instant)
    assert found == f"cycle:{name}"
    assert at("2010-11-07T02:30:00Z") in {starts, ends}
