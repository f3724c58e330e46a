"""Accounts that move, are suspended, or get another bound while they spend."""

from tests.support.checks import assert_denied
from tests.support.money import tokens
from tests.support.session import Figures


async def test_open_holds_stay_where_they_were_made_and_new_ones_follow(ledger, clock):
    await ledger.grant("old", 1000)
    await ledger.grant("new", 1000)
    await ledger.put_account("ann", parent_id="old")
    await ledger.grant("ann", 1000)
    await ledger.reserve("before", "ann", tokens(300))
    await ledger.put_account("ann", parent_id="new")
    await ledger.reserve("after", "ann", tokens(50))
    assert await ledger.figures("old") == Figures(0, 300, 700)
    assert await ledger.figures("new") == Figures(0, 50, 950)
    await ledger.settle("before", tokens(200))
    await ledger.settle("after", tokens(40))
    assert await ledger.figures("old") == Figures(200, 0, 800)
    assert await ledger.figures("new") == Figures(40, 0, 960)
    assert await ledger.figures("ann") == Figures(240, 0, 760)


async def test_those_below_move_along(ledger, clock):
    await ledger.grant("old", 1000)
    await ledger.grant("new", 60)
    await ledger.put_account("team", parent_id="old")
    await ledger.put_account("ann", parent_id="team")
    await ledger.reserve("before", "ann", tokens(300))
    await ledger.put_account("team", parent_id="new")
    assert_denied(await ledger.reserve("r2", "ann", tokens(61)), "exceeds_limit", scope="new")
    await ledger.release("before")
    assert await ledger.figures("old") == Figures(0, 0, 1000)


async def test_a_suspended_account_starts_nothing_and_ends_what_it_began(ledger, clock):
    await ledger.put_account("team")
    await ledger.put_account("ann", parent_id="team")
    await ledger.grant("ann", 1000)
    for request_id in ("r1", "r2"):
        await ledger.reserve(request_id, "ann", tokens(100))
    await ledger.put_account("team", status="suspended", reason="unpaid")
    assert_denied(await ledger.reserve("r3", "ann", tokens(1)), "account_suspended")
    assert_denied(await ledger.charge("c3", "ann", tokens(1)), "account_suspended")
    assert "expires_at" in await ledger.call("extend", request_id="r1", ttl_seconds=600)
    assert (await ledger.settle("r1", tokens(90)))["state"] == "settled"
    assert (await ledger.release("r2"))["state"] == "released"
    await ledger.put_account("team", status="active")
    assert (await ledger.reserve("r4", "ann", tokens(1)))["decision"] == "authorized"
    assert await ledger.figures("ann") == Figures(90, 1, 909)


async def test_a_bound_lowered_below_what_is_open_denies_until_enough_have_ended(ledger, clock):
    await ledger.put_account("ann", max_open_holds=5)
    await ledger.grant("ann", 1000)
    for n in range(3):
        await ledger.reserve(f"r{n}", "ann", tokens(1))
    await ledger.put_account("ann", max_open_holds=2)
    assert_denied(await ledger.reserve("r3", "ann", tokens(1)), "too_many_holds")
    await ledger.settle("r0", tokens(1))
    assert_denied(await ledger.reserve("r4", "ann", tokens(1)), "too_many_holds")
    await ledger.settle("r1", tokens(1))
    assert (await ledger.reserve("r5", "ann", tokens(1)))["decision"] == "authorized"
