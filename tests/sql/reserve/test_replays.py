"""A request id is decided once: rows 1, 2, 3 of what happens when."""

import pytest

from tests.support.checks import assert_denied, assert_problem, assert_same
from tests.support.money import MONTH, tokens

FULL = {
    "request_id": "r1",
    "account_id": "ann",
    "amounts": {"tokens": 400},
    "model": "opus",
    "ttl_seconds": 60,
    "alternatives": [{"model": "haiku", "amounts": {"tokens": 100}}],
    "session_id": "s1",
    "labels": {"team": "search"},
}

OTHERS = {
    "amounts": {"tokens": 401},
    "model": "haiku",
    "ttl_seconds": 61,
    "alternatives": [{"model": "haiku", "amounts": {"tokens": 101}}],
    "session_id": "s2",
    "labels": {"team": "ads"},
}


async def test_the_same_request_again_is_the_same_reply_but_for_replayed(ledger, clock):
    await ledger.grant("ann", window=MONTH)
    first = await ledger.one("reserve", **FULL)
    moved = await ledger.movements()
    again = await ledger.one("reserve", **FULL)
    assert_same(first.body, again.body)
    assert again.status == first.status == 200
    assert await ledger.movements() == moved


async def test_a_replay_shows_what_was_available_then_not_now(ledger, clock):
    await ledger.grant("ann")
    first = await ledger.reserve("r1", "ann", tokens(400))
    await ledger.reserve("r2", "ann", tokens(500))
    assert_same(first, await ledger.reserve("r1", "ann", tokens(400)))


async def test_a_replay_in_a_later_window_is_still_the_first_reply(ledger, clock):
    clock.set("2026-09-30T23:59:59Z")
    await ledger.grant("ann", window=MONTH)
    first = await ledger.reserve("r1", "ann", tokens(400))
    clock.set("2026-10-01T00:00:01Z")
    assert_same(first, await ledger.reserve("r1", "ann", tokens(400)))


async def test_members_in_another_order_are_the_same_request(ledger, clock):
    await ledger.grant("ann")
    first = await ledger.one("reserve", **FULL)
    again = await ledger.one("reserve", **dict(reversed(FULL.items())))
    assert_same(first.body, again.body)


@pytest.mark.parametrize(
    "member", ["model", "ttl_seconds", "alternatives", "session_id", "labels", "dry_run"]
)
async def test_null_is_the_same_as_leaving_an_optional_member_out(ledger, clock, member):
    await ledger.grant("ann")
    plain = {"request_id": "r1", "account_id": "ann", "amounts": tokens(400)}
    first = await ledger.one("reserve", **plain)
    again = await ledger.one("reserve", **plain, **{member: None})
    assert_same(first.body, again.body)


@pytest.mark.parametrize("member", OTHERS)
async def test_another_body_under_the_same_id_is_a_conflict_and_moves_nothing(
    ledger, clock, member
):
    await ledger.grant("ann")
    await ledger.one("reserve", **FULL)
    moved = await ledger.movements()
    reply = await ledger.one("reserve", **{**FULL, member: OTHERS[member]})
    assert_problem(reply.body, 409, "request_id_conflict")
    assert reply.status == 409
    assert await ledger.movements() == moved


async def test_a_conflict_with_a_denied_request_is_a_conflict_too(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(1001))
    assert_problem(await ledger.reserve("r1", "ann", tokens(1)), 409, "request_id_conflict")


async def test_a_charge_under_a_reservations_id_is_a_conflict(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    assert_problem(await ledger.charge("r1", "ann", tokens(400)), 409, "request_id_conflict")


async def test_a_denied_request_stays_denied_when_there_is_room_again(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(1000))
    first = await ledger.reserve("r2", "ann", tokens(500))
    assert_denied(first, "budget_exhausted")
    await ledger.release("r1")
    assert_same(first, await ledger.reserve("r2", "ann", tokens(500)))
    assert (await ledger.reserve("r3", "ann", tokens(500)))["decision"] == "authorized"


@pytest.mark.parametrize("reason", ["account_unknown", "account_suspended", "no_budget"])
async def test_a_denial_about_the_account_is_final_for_its_id_too(ledger, clock, reason):
    if reason != "account_unknown":
        status = "suspended" if reason == "account_suspended" else "active"
        await ledger.put_account("ann", status=status)
    first = await ledger.reserve("r1", "ann", tokens(5))
    assert_denied(first, reason)
    await ledger.grant("ann")
    await ledger.put_account("ann", status="active")
    assert_same(first, await ledger.reserve("r1", "ann", tokens(5)))


async def test_a_refused_request_may_come_again_corrected_under_its_id(ledger, clock):
    await ledger.grant("ann")
    refused = await ledger.one("reserve", request_id="r1", account_id="ann", amounts={"tokens": -1})
    assert_problem(refused.body, 400, "malformed")
    assert (await ledger.reserve("r1", "ann", tokens(1)))["replayed"] is False


async def test_a_replay_after_settlement_is_still_the_authorization(ledger, clock):
    await ledger.grant("ann")
    first = await ledger.reserve("r1", "ann", tokens(400))
    await ledger.settle("r1", tokens(100))
    again = await ledger.reserve("r1", "ann", tokens(400))
    assert again["replayed"] is True
    assert {**again, "replayed": False, "state": "authorized"} == first
    assert (await ledger.window("ann"))["settled"] == 100


async def test_a_replay_tells_the_rate_limit_of_the_tightest_budget_as_it_is_now(ledger, clock):
    await ledger.grant("ann", 1000, "wide")
    await ledger.grant("ann", 100, "tight")
    item = {"request_id": "r1", "account_id": "ann", "amounts": tokens(10)}
    first = await ledger.one("reserve", **item)
    assert first.headers["RateLimit"] == '"tight";r=90'
    await ledger.charge("c1", "ann", tokens(40))
    again = await ledger.one("reserve", **item)
    assert again.headers["RateLimit"] == '"tight";r=50'
