"""Leases that have lapsed and nobody has swept: a decision gives back a thousand, and what it needs."""

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
