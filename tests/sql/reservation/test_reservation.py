"""A reservation with its lines and its whole timeline."""

from datetime import timedelta
from itertools import pairwise

import pytest

from tests.support.checks import assert_problem, at
from tests.support.money import MONTH, tokens
from tests.support.prices import publish, spend

MEMBERS = {
    "request_id", "account_id", "call", "decision", "state", "model", "chosen_alternative",
    "price_table_id", "price_table_ids", "max_usage", "amounts", "lines", "created_at", "expires_at", "on_expiry", "session_id",
    "labels", "denial", "settlement", "timeline",
}  # fmt: skip


@pytest.fixture
async def held(ledger, clock):
    await ledger.grant("org", 5000, window=MONTH)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", window=MONTH)
    await ledger.reserve(
        "r1", "ann", tokens(400), model="opus", session_id="s1", labels={"team": "search"}
    )
    return ledger


async def test_a_reservation_has_the_members_of_the_contract(held, clock):
    reply = await held.reservation("r1")
    assert set(reply) == MEMBERS
    assert (reply["call"], reply["decision"], reply["state"]) == (
        "reserve", "authorized", "authorized",
    )  # fmt: skip
    assert (reply["model"], reply["session_id"]) == ("opus", "s1")
    assert reply["labels"] == {"team": "search"}
    assert reply["amounts"] == tokens(400)
    assert at(reply["created_at"]) == clock.now
    assert at(reply["expires_at"]) == clock.now + timedelta(seconds=120)
    assert reply["denial"] is reply["settlement"] is None


async def test_its_lines_say_what_each_window_holds_and_has_settled(held):
    await held.settle("r1", tokens(150))
    lines = (await held.reservation("r1"))["lines"]
    assert [(ln["scope"], ln["window"], ln["held"], ln["settled"]) for ln in lines] == [
        ("ann", "2026-09", 400, 150),
        ("org", "2026-09", 400, 150),
    ]


async def test_a_settlement_is_repeated_in_full(held):
    settled = await held.settle("r1", tokens(150))
    stored = (await held.reservation("r1"))["settlement"]
    assert stored["amounts"] == settled["amounts"]
    assert stored["outcome"] == "completed"


async def test_a_denial_is_repeated_in_full(held):
    await held.reserve("r2", "ann", tokens(5001))
    reply = await held.reservation("r2")
    assert (reply["decision"], reply["state"]) == ("denied", "denied")
    assert reply["denial"]["reason"] == "exceeds_limit"
    assert reply["lines"] == []


async def test_the_timeline_grows_with_every_event_and_is_in_order(held, clock):
    steps = []
    for call, more in (
        ("extend", {"ttl_seconds": 600}),
        ("cancel", {}),
        ("settle", {"outcome": "unknown"}),
        ("settle", {"amounts": tokens(150)}),
        ("settle", {"amounts": tokens(151)}),
    ):
        clock.advance(seconds=1)
        await held.call(call, request_id="r1", **more)
        steps.append((await held.reservation("r1"))["timeline"])
    assert [len(t) for t in steps] == [2, 3, 4, 5, 6]
    last = steps[-1]
    assert all(set(e) == {"at", "event", "actor", "detail"} for e in last)
    assert [at(e["at"]) for e in last] == sorted(at(e["at"]) for e in last)
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(steps))


async def test_replays_leave_no_trace_in_the_timeline(held):
    await held.settle("r1", tokens(150))
    before = (await held.reservation("r1"))["timeline"]
    await held.settle("r1", tokens(150))
    await held.reserve(
        "r1", "ann", tokens(400), model="opus", session_id="s1", labels={"team": "search"}
    )
    assert (await held.reservation("r1"))["timeline"] == before


async def test_a_charge_is_read_like_a_reservation(held):
    await held.charge("c1", "ann", tokens(7))
    reply = await held.reservation("c1")
    assert (reply["call"], reply["state"], reply["expires_at"]) == ("charge", "settled", None)
    assert [line["settled"] for line in reply["lines"]] == [7, 7]


async def test_the_usage_of_a_charge_is_no_bound(held):
    await publish(held)
    await spend(held, "c1", "ann", {"output_tokens": 7})
    await spend(held, "c2", "ann", max_usage={"input_tokens": 1, "output_tokens": 7})
    usage, bound = [await held.reservation(request_id) for request_id in ("c1", "c2")]
    assert (usage["max_usage"], usage["settlement"]["usage"]) == (None, {"output_tokens": 7})
    assert bound["max_usage"] == {"input_tokens": 1, "output_tokens": 7}


async def test_an_unknown_reservation_is_a_404(held):
    assert_problem(await held.reservation("r9"), 404, "reservation_unknown")
    assert_problem(await held.reservation("r1", "org"), 404, "reservation_unknown")


async def test_an_id_of_two_accounts_needs_the_account(held):
    await held.reserve("r1", "org", tokens(5))
    assert_problem(await held.reservation("r1"), 409, "account_id_required")
    assert (await held.reservation("r1", "org"))["account_id"] == "org"


async def test_a_caller_sees_only_reservations_of_its_subtree(held):
    await held.grant("rival")
    foreign = await held.call("reservation", request_id="r1", within="rival")
    assert foreign["status"] in {403, 404}
    own = await held.call("reservation", request_id="r1", within="org")
    assert own["request_id"] == "r1"
