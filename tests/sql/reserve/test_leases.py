"""Leases that have lapsed and nobody has swept: a decision gives back a thousand, and what it needs."""

from tests.support.checks import assert_denied
from tests.support.money import tokens


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
