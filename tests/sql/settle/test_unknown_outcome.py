"""Row 15: nobody knows whether the provider billed; the hold waits for the answer."""

from tests.support.checks import assert_problem, assert_same
from tests.support.money import tokens
from tests.support.session import Figures


async def unknown(ledger, **budget):
    await ledger.grant("ann", **budget)
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    return await ledger.settle("r1", outcome="unknown")


async def test_the_hold_is_kept_in_state_unknown(ledger, clock):
    reply = await unknown(ledger)
    assert (reply["state"], reply["outcome"], reply["replayed"]) == ("unknown", "unknown", False)
    assert (await ledger.reservation("r1"))["state"] == "unknown"
    assert await ledger.figures("ann") == Figures(0, 400, 600)


async def test_unknown_again_is_the_same_reply(ledger, clock):
    first = await unknown(ledger)
    assert_same(first, await ledger.settle("r1", outcome="unknown"))


async def test_the_real_usage_settles_it_once(ledger, clock):
    await unknown(ledger)
    first = await ledger.settle("r1", tokens(150))
    assert_same(first, await ledger.settle("r1", tokens(150)))
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_even_a_lease_is_kept_once_its_outcome_is_unknown(ledger, clock):
    await unknown(ledger, on_expiry="release")
    clock.advance(seconds=60)
    await ledger.expire()
    assert await ledger.figures("ann") == Figures(0, 400, 600)
    assert (await ledger.reserve("r2", "ann", tokens(601)))["decision"] == "denied"


async def test_a_settled_reservation_does_not_become_unknown(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    await ledger.settle("r1", tokens(150))
    reply = await ledger.settle("r1", outcome="unknown")
    assert reply["status"] == 409
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_unknown_with_amounts_is_malformed_and_so_is_nothing_without_amounts(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    before = await ledger.contents()
    both = await ledger.settle("r1", tokens(1), outcome="unknown")
    neither = await ledger.settle("r1")
    for reply in (both, neither):
        assert_problem(reply, 400, "malformed")
        assert any("amounts" in e["path"] for e in reply["errors"])
    assert await ledger.contents() == before


async def test_a_lease_that_somebody_gave_back_meanwhile_is_not_kept(ledger, clock):
    """Who decides a moment later, after its end, may have it before a call that began in time."""
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    await ledger.connection.execute(
        "select preauth._give_back(w.window_id, preauth._now() + '5 s') from preauth.budget_window as w"
    )
    reply = await ledger.settle("r1", outcome="unknown")
    assert_problem(reply, 409, "hold_lapsed")
    clock.advance(seconds=5)
    assert (await ledger.reservation("r1"))["state"] == "lapsed"
    assert await ledger.figures("ann") == Figures(0, 0, 1000)
