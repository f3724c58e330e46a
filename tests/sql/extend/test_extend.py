"""A hold's time can be lengthened while it runs: row 13."""

from datetime import timedelta

import pytest

from tests.support.checks import assert_problem, at
from tests.support.malformed import BAD_IDS, BAD_TTLS, broken
from tests.support.money import tokens
from tests.support.session import Figures


async def extend(ledger, ttl, request_id="r1", **more):
    return await ledger.call("extend", request_id=request_id, ttl_seconds=ttl, **more)


@pytest.fixture
async def held(ledger, clock):
    """A lease of 60 seconds on 400 of ann's 1000 tokens."""
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=60)
    return ledger


async def test_the_new_time_counts_from_now(held, clock):
    clock.advance(seconds=30)
    reply = await extend(held, 100)
    assert at(reply["expires_at"]) == clock.now + timedelta(seconds=100)
    assert (reply["state"], reply["replayed"], reply["account_id"]) == ("authorized", False, "ann")


async def test_it_never_shortens(held, clock):
    before = (await held.reservation("r1"))["expires_at"]
    assert (await extend(held, 1))["expires_at"] == before
    assert (await held.reservation("r1"))["expires_at"] == before


async def test_an_extended_lease_lapses_at_its_new_instant(held, clock):
    await extend(held, 100)
    clock.advance(seconds=99.999)
    assert (await held.window("ann"))["reserved"] == 400
    clock.advance(milliseconds=1)
    assert (await held.window("ann"))["reserved"] == 0


async def test_the_sweep_leaves_an_extended_lease_alone(held, clock):
    await extend(held, 100)
    clock.advance(seconds=60)
    assert await held.expire() == 0
    assert (await held.settle("r1", tokens(1)))["late"] is False


@pytest.mark.parametrize("swept", [True, False])
async def test_a_lapsed_lease_cannot_be_extended(held, clock, swept):
    clock.advance(seconds=60)
    if swept:
        await held.expire()
    assert_problem(await extend(held, 100), 409, "hold_lapsed")
    assert await held.figures("ann") == Figures(0, 0, 1000)


async def test_the_last_instant_before_the_lapse_is_early_enough(held, clock):
    clock.advance(seconds=59, microseconds=999_999)
    assert (await extend(held, 100))["state"] == "authorized"


@pytest.mark.parametrize(
    ("ended", "code"),
    [("settle", "already_settled"), ("release", "already_released"), ("deny", "not_authorized")],
)
async def test_what_is_over_cannot_be_extended(held, clock, ended, code):
    if ended == "settle":
        await held.settle("r1", tokens(1))
    elif ended == "release":
        await held.release("r1")
    else:
        await held.reserve("r2", "ann", tokens(5000))
    moved = await held.movements()
    assert_problem(await extend(held, 100, "r2" if ended == "deny" else "r1"), 409, code)
    assert await held.movements() == moved


async def test_extending_moves_no_money(held, clock):
    await extend(held, 86400)
    assert await held.figures("ann") == Figures(0, 400, 600)


async def test_an_unknown_reservation_is_a_404(held):
    assert_problem(await extend(held, 100, "r9"), 404, "reservation_unknown")


async def test_an_id_of_two_accounts_needs_the_account(held):
    await held.grant("bob")
    await held.reserve("r1", "bob", tokens(5))
    assert_problem(await extend(held, 100), 409, "account_id_required")
    assert (await extend(held, 100, account_id="bob"))["account_id"] == "bob"


async def test_a_retry_after_follows_the_extension(held, clock):
    await extend(held, 100)
    denial = await held.reserve("r2", "ann", tokens(601))
    assert denial["retry_after_ms"] == 100_000


async def test_malformed_extensions_name_the_field_and_write_nothing(held):
    good = {"request_id": "r1", "ttl_seconds": 100}
    cases = {
        **broken("request_id", BAD_IDS),
        **broken("ttl_seconds", {**BAD_TTLS, "null": None}),
        **broken("reason", {"a member of another call": "x"}),
    }
    before, wrong = await held.contents(), []
    for why, (member, value) in cases.items():
        row = await held.one("extend", **{**good, member: value})
        if row.status != 400 or member not in str(row.body.get("errors")):
            wrong.append((why, row.status, row.body))
    assert wrong == []
    assert await held.contents() == before


@pytest.mark.parametrize("how", ["time", "an unknown outcome"])
async def test_a_kept_hold_past_its_time_cannot_be_extended(ledger, clock, how):
    await ledger.grant("ann", on_expiry="keep")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=60)
    if how == "time":
        clock.advance(seconds=60)
    else:
        await ledger.settle("r1", outcome="unknown")
    assert_problem(await extend(ledger, 100), 409, "hold_lapsed")
    assert await ledger.figures("ann") == Figures(0, 400, 600)
