"""A lease that has lapsed is not held, whatever is still kept beside it, swept or not."""

import asyncio

import pytest

from tests.support.checks import assert_problem
from tests.support.money import tokens
from tests.support.session import Figures
from tests.support.waits import until

BOTH = {"tokens": 100, "credits": 7}


@pytest.fixture
async def due(ledger, clock):
    """100 tokens of a lease that has lapsed, beside 7 credits that are kept; no sweep has come."""
    await ledger.grant("ann", 1000, "lease", on_expiry="release")
    await ledger.grant("ann", 1000, "kept", unit="credits", on_expiry="keep", overage="reject")
    await ledger.reserve("r1", "ann", BOTH, ttl_seconds=5)
    clock.advance(seconds=5)
    return ledger


async def states(ledger):
    return {line["budget"]: line["state"] for line in (await ledger.reservation("r1"))["lines"]}


async def stored(ledger):
    rows = await ledger.connection.fetch(
        "select state from preauth.hold_line where request_id = 'r1' order by amount desc"
    )
    return [row["state"] for row in rows]


async def mismatches(ledger):
    return await ledger.connection.fetch("select * from preauth_api.verify()")


async def unswept(ledger):
    pass


async def swept(ledger):
    assert await ledger.expire() == 1


async def marked_unknown(ledger):
    assert (await ledger.settle("r1", outcome="unknown"))["state"] == "unknown"


async def refused(ledger):
    reply = await ledger.settle("r1", {"tokens": 1, "credits": 8})
    assert_problem(reply, 409, "settlement_exceeds_hold")


WAYS = [unswept, swept, marked_unknown, refused]


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_stuck_is_told_with_what_it_holds(due, way):
    await way(due)
    (item,) = (await due.call("audit_stuck"))["items"]
    assert item["held"] == {"credits": 7}
    assert await states(due) == {"lease": "lapsed", "kept": "held"}


@pytest.mark.parametrize("way", [marked_unknown, refused])
async def test_who_keeps_what_is_left_gives_back_what_has_lapsed(due, way):
    await way(due)
    assert await stored(due) == ["lapsed", "held"]
    assert await due.connection.fetchval("select sum(reserved) from preauth.budget_window") == 7
    assert await mismatches(due) == []


@pytest.mark.parametrize("way", WAYS)
async def test_a_release_gives_back_what_was_still_held(due, way):
    await way(due)
    reply = (
        await due.call("resolve", request_id="r1", action="release", reason="not billed")
        if way is refused
        else await due.release("r1")
    )
    (line,) = reply["lines"]
    assert (line["budget"], line["amount"], line["available"]) == ("kept", 7, 1000)
    assert await states(due) == {"lease": "lapsed", "kept": "released"}
    assert await due.figures("ann", "lease") == Figures(0, 0, 1000)
    assert await mismatches(due) == []


async def test_a_lease_that_lapses_while_its_release_waits_for_its_window_has_lapsed(ledger, clock):
    await ledger.grant("ann", 1000, "lease", on_expiry="release")
    await ledger.grant("ann", 1000, "kept", unit="credits", on_expiry="keep")
    await ledger.reserve("r1", "ann", BOTH, ttl_seconds=5)
    parked, releasing = await ledger.sessions(2)
    async with parked.connection.transaction():
        await parked.connection.fetch("select from preauth.budget_window for update")
        waiting = asyncio.create_task(releasing.release("r1"))
        await until(lambda: ledger.waits(releasing), "the release waits for the windows")
        clock.advance(seconds=5)
    assert [line["budget"] for line in (await waiting)["lines"]] == ["kept"]
    assert await states(ledger) == {"lease": "lapsed", "kept": "released"}


async def test_the_money_of_a_lease_is_charged_late_after_all_the_same(due):
    await marked_unknown(due)
    reply = await due.settle("r1", {"tokens": 60, "credits": 7})
    assert (reply["state"], reply["late"]) == ("settled", True)
    assert await due.figures("ann", "lease") == Figures(60, 0, 940)
    assert await mismatches(due) == []


async def test_a_lease_given_back_while_its_settlement_goes_into_review_is_charged_once_accepted(
    ledger, clock
):
    """Who decides a moment later, after its end, may have it: the review then holds nothing."""
    await ledger.grant("ann", 1000, "lease", on_expiry="release", overage="reject")
    await ledger.reserve("r1", "ann", tokens(100), ttl_seconds=5)
    parked, settling = await ledger.sessions(2)
    async with parked.connection.transaction():
        await parked.connection.execute(
            "select preauth._give_back(w.window_id, preauth._now() + '5 s') from preauth.budget_window as w"
        )
        waiting = asyncio.create_task(settling.settle("r1", tokens(130)))
        await until(lambda: ledger.waits(settling), "the settlement waits for the line")
    assert_problem(await waiting, 409, "settlement_exceeds_hold")
    assert await ledger.figures("ann", "lease") == Figures(0, 0, 1000)
    assert await mismatches(ledger) == []
    accepted = await ledger.call(
        "resolve", request_id="r1", action="accept_overage", reason="it was billed"
    )
    assert accepted["late"] is True
    assert await ledger.figures("ann", "lease") == Figures(130, 0, 870)
    assert await mismatches(ledger) == []
