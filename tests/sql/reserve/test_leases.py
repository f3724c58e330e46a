"""Leases that have lapsed and nobody has swept: a decision gives back a thousand, and what it needs."""

import pytest

from tests.support.checks import assert_denied
from tests.support.money import DAY, tokens


async def let_1200_lapse(ledger, clock):
    """Of one token each, which is all that ann has."""
    await ledger.grant("ann", 1200, on_expiry="release")
    for n in range(3):
        items = [
            {"request_id": f"{n}-{m}", "account_id": "ann", "amounts": tokens(1), "ttl_seconds": 60}
            for m in range(400)
        ]
        await ledger.many("reserve", items)
    clock.advance(seconds=61)


async def lapsed(ledger):
    return await ledger.count("hold_line", "state = 'lapsed'")


async def test_what_is_available_does_not_count_them(ledger, clock):
    await ledger.grant("ann", 64, on_expiry="release")
    await ledger.reserve("lapsed", "ann", tokens(12), ttl_seconds=5)
    clock.advance(seconds=600)
    reply = await ledger.reserve("next", "ann", tokens(20))
    assert reply["lines"][0]["available"] == 44
    assert await lapsed(ledger) == 1


async def test_no_more_than_a_thousand_lapse_when_a_request_needs_few(ledger, clock):
    await let_1200_lapse(ledger, clock)
    assert (await ledger.reserve("next", "ann", tokens(10)))["decision"] == "authorized"
    assert await lapsed(ledger) == 1000
    balance = await ledger.call("balance", account_id="ann")
    assert balance["windows"][0]["reserved"] == 10


async def test_all_lapse_that_a_request_needs(ledger, clock):
    await let_1200_lapse(ledger, clock)
    reply = await ledger.reserve("next", "ann", tokens(1100))
    assert reply["lines"][0]["available"] == 100


async def test_a_request_that_can_never_fit_gives_back_no_more_than_a_thousand(ledger, clock):
    await let_1200_lapse(ledger, clock)
    denial = await ledger.reserve("never", "ann", tokens(1201))
    assert_denied(denial, "exceeds_limit", available=1200)
    assert await lapsed(ledger) == 1000


async def test_what_a_denial_says_would_fit_counts_none_that_has_lapsed(ledger, clock):
    """Two hundred of them are written as held: neither what is affordable nor the headers may tell."""
    await let_1200_lapse(ledger, clock)
    never = {"request_id": "never", "account_id": "ann", "amounts": tokens(1201)}
    (denial,) = await ledger.many("reserve", [never])
    assert (denial.body["available"], denial.body["affordable"]) == (1200, tokens(1200))
    assert denial.headers["RateLimit"] == '"cap";r=1200'
    assert (await ledger.reserve("all", "ann", tokens(1200)))["decision"] == "authorized"


async def test_what_is_available_is_of_the_item_that_is_denied_whatever_made_room_after_it(
    ledger, clock
):
    await let_1200_lapse(ledger, clock)
    items = [
        {"request_id": name, "account_id": "ann", "amounts": tokens(amount)}
        for name, amount in (("never", 1201), ("most", 1100), ("never-2", 1300), ("no", 101))
    ]
    rows = await ledger.many("reserve", items)
    assert [row.status for row in rows] == [402, 200, 402, 429]
    assert [row.body.get("available") for row in rows] == [1200, None, 100, 100]


async def test_what_would_fit_counts_no_lapsed_lease_of_a_budget_that_keeps_now(ledger, clock):
    await ledger.grant("ann", 100, on_expiry="release")
    await ledger.reserve("lapsed", "ann", tokens(70), ttl_seconds=5)
    await ledger.grant("ann", 100, on_expiry="keep")
    clock.advance(seconds=5)
    denial = await ledger.reserve("no", "ann", tokens(101))
    assert (denial["available"], denial["affordable"]) == (100, tokens(100))


async def test_what_would_fit_counts_no_lapsed_lease_of_a_shared_budget_either(ledger, clock):
    """Lapsed, the organisation's leave it more than ann has, whose own budget denies her."""
    await ledger.grant("org", 150, on_expiry="release")
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 100)
    await ledger.reserve("lapsed", "org", tokens(70), ttl_seconds=5)
    await ledger.grant("org", 150, on_expiry="keep")
    clock.advance(seconds=5)
    denial = await ledger.reserve("no", "ann", tokens(101))
    assert (denial["scope"], denial["affordable"]) == ("ann", tokens(100))


async def test_a_window_whose_leases_have_all_lapsed_is_no_new_one(ledger, clock):
    """What it leaves at midnight counts: the denied request fits then, and is told so."""
    await ledger.grant("ann", 100, window=DAY, on_expiry="release", rollover={"max": 100})
    await ledger.reserve("lapsed", "ann", tokens(10), ttl_seconds=1)
    clock.advance(seconds=10)
    denial = await ledger.reserve("no", "ann", tokens(150))
    assert denial["retry_after_ms"] == (12 * 3600 - 10) * 1000
    clock.advance(seconds=12 * 3600 - 10)
    assert (await ledger.reserve("yes", "ann", tokens(150)))["decision"] == "authorized"


async def test_a_dry_run_foresees_what_the_call_would(ledger, clock):
    """A denied request makes no window: nothing is there that could be left over."""
    await ledger.grant("ann", 100, window=DAY, rollover={"max": 100})
    rehearsed = await ledger.reserve("r", "ann", tokens(150), dry_run=True)
    told = await ledger.reserve("r", "ann", tokens(150))
    assert rehearsed["retry_after_ms"] == told["retry_after_ms"]


async def test_a_settlement_says_what_is_reserved_without_lapsed_leases(ledger, clock):
    await ledger.grant("ann", 100, on_expiry="release")
    await ledger.reserve("lapses", "ann", tokens(10), ttl_seconds=5)
    for name in ("settled", "released", "late"):
        await ledger.reserve(name, "ann", tokens(10), ttl_seconds=60 if name != "late" else 5)
    clock.advance(seconds=5)
    line = (await ledger.settle("settled", tokens(7)))["lines"][0]
    assert (line["settled"], line["reserved"], line["available"]) == (7, 10, 83)
    line = (await ledger.settle("late", tokens(3)))["lines"][0]
    assert (line["settled"], line["reserved"], line["available"]) == (10, 10, 80)
    assert (await ledger.release("released"))["lines"][0]["available"] == 90
    balance = (await ledger.call("balance", account_id="ann"))["windows"][0]
    assert (balance["reserved"], balance["available"]) == (0, 90)


@pytest.mark.parametrize("ended", ["settled", "settled at once", "settled late", "released"])
async def test_what_is_reserved_after_a_hold_ends_counts_no_lapsed_lease_of_a_budget_that_keeps_now(
    ledger, clock, ended
):
    await ledger.grant("ann", 1000, on_expiry="release")
    await ledger.reserve("lapsed", "ann", tokens(300), ttl_seconds=5)
    await ledger.reserve("late", "ann", tokens(20), ttl_seconds=5)
    await ledger.reserve("open", "ann", tokens(10), ttl_seconds=500)
    await ledger.grant("ann", 1000, on_expiry="keep")
    if ended == "settled at once":
        await ledger.reserve("kept", "ann", tokens(10), ttl_seconds=500)
    clock.advance(seconds=10)
    match ended:
        case "settled":
            reply = await ledger.settle("open", tokens(10))
        case "settled at once":
            reply = await ledger.settle("kept", tokens(10))
        case "settled late":
            reply = await ledger.settle("late", tokens(20))
        case _:
            reply = await ledger.release("open")
    left = await ledger.figures("ann")
    assert reply["lines"][0]["available"] == left.available
    assert reply["lines"][0].get("reserved", left.reserved) == left.reserved


@pytest.mark.parametrize(("lease", "charged"), [("a", "b"), ("b", "a")])
async def test_what_is_reserved_after_a_charge_at_its_end_counts_no_lapsed_lease(
    ledger, clock, lease, charged
):
    """Whichever line comes first. What was charged by time was not a lease when it was held; what was held since is."""
    await ledger.grant("ann", 1000, lease, on_expiry="release")
    await ledger.grant("ann", 1000, charged, on_expiry="charge")
    await ledger.reserve("r", "ann", tokens(50), ttl_seconds=5)
    await ledger.grant("ann", 1000, charged, on_expiry="release")
    await ledger.reserve("lapsed", "ann", tokens(300), ttl_seconds=5)
    clock.advance(seconds=10)
    reply = await ledger.settle("r", tokens(50))
    lines = {line["budget"]: line for line in reply["lines"]}
    assert (lines[charged]["reserved"], lines[charged]["available"]) == (0, 950)


async def test_leases_of_a_budget_that_keeps_now_are_given_back_where_a_request_needs_it(
    ledger, clock
):
    await ledger.grant("ann", 64, on_expiry="release")
    await ledger.reserve("lapsed", "ann", tokens(12), ttl_seconds=5)
    await ledger.grant("ann", 64, on_expiry="keep")
    clock.advance(seconds=5)
    reply = await ledger.reserve("next", "ann", tokens(20))
    assert 32 <= reply["lines"][0]["available"] <= 44
    assert (await ledger.figures("ann")).available == 44
    reply = await ledger.reserve("all", "ann", tokens(44))
    assert reply["lines"][0]["available"] == 0
