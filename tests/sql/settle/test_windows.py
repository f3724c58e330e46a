"""Row 18: the window may roll between reserve and settle."""

import pytest

from tests.support.money import DAY, HOUR, MONTH, calendar, fixed, tokens


@pytest.mark.parametrize(
    "window",
    [HOUR, DAY, MONTH, calendar("week"), calendar("quarter"), calendar("year"), fixed(60)],
    ids=lambda w: w.get("period", w["kind"]),
)
async def test_the_settlement_is_posted_to_the_window_that_held_it(ledger, clock, window):
    await ledger.grant("ann", window=window)
    held = (await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=86400))["lines"][0]
    clock.set("2027-02-03T04:05:06Z")
    await ledger.reserve("r2", "ann", tokens(10))
    (line,) = (await ledger.settle("r1", tokens(150)))["lines"]
    assert line["window"] == held["window"]
    assert (line["settled"], line["reserved"], line["available"]) == (150, 0, 850)
    now = await ledger.window("ann")
    assert (now["settled"], now["reserved"]) == (0, 10)


async def test_spend_of_a_whole_day_stays_until_midnight(ledger, clock):
    clock.set("2026-09-14T00:00:00Z")
    await ledger.grant("ann", window=DAY)
    for n in range(10):
        clock.advance(hours=2)
        await ledger.charge(f"c{n}", "ann", tokens(100))
    clock.set("2026-09-14T23:59:59.999999Z")
    assert (await ledger.window("ann"))["available"] == 0
    clock.set("2026-09-15T00:00:00Z")
    assert (await ledger.window("ann"))["available"] == 1000
