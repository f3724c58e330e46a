"""What a person decides about a hold is in the change log."""

import pytest

from tests.support.money import tokens

DECISIONS = {
    "settle": ({"amounts": tokens(700)}, {"state": "settled", "amounts": tokens(700)}),
    "release": ({}, {"state": "released"}),
    "accept_overage": ({}, {"state": "settled", "amounts": tokens(1500)}),
}


@pytest.mark.parametrize("action", DECISIONS)
async def test_a_resolution_is_logged_once_with_who_and_why(ledger, clock, action):
    more, after = DECISIONS[action]
    await ledger.grant("ann", 10_000, overage="reject")
    await ledger.reserve("r1", "ann", tokens(1000))
    await ledger.settle("r1", tokens(1500))
    item = {"request_id": "r1", "action": action, "reason": "the invoice says so", **more}
    for _ in range(2):
        await ledger.many("resolve", [item], actors=["key_carla"])
    rows = await ledger.connection.fetch(
        "select * from preauth.change_log where subject = 'reservation'"
    )
    assert len(rows) == 1
    assert (rows[0]["subject_id"], rows[0]["actor"]) == ("ann/r1", "key_carla")
    assert (rows[0]["reason"], rows[0]["changed_at"]) == ("the invoice says so", clock.now)
    assert rows[0]["before"] == {"state": "overage_review"}
    assert rows[0]["after"] == {"action": action, **after}


async def test_of_several_in_a_batch_each_has_its_own_state_before(ledger, clock):
    await ledger.grant("ann", 10_000, overage="reject")
    for request_id in ("b", "a"):
        await ledger.reserve(request_id, "ann", tokens(1000))
    await ledger.settle("b", tokens(1500))
    await ledger.settle("a", outcome="unknown")
    items = [{"request_id": r, "action": "release", "reason": "x"} for r in ("b", "a")]
    await ledger.many("resolve", items)
    rows = await ledger.connection.fetch(
        "select subject_id, before ->> 'state' from preauth.change_log where subject = 'reservation' order by change_id"
    )
    assert sorted(map(tuple, rows)) == [("ann/a", "unknown"), ("ann/b", "overage_review")]


async def test_a_resolution_that_is_refused_is_not_logged(ledger, clock):
    await ledger.grant("ann", 10_000)
    await ledger.charge("c1", "ann", tokens(5))
    await ledger.call("resolve", request_id="c1", action="release", reason="x")
    assert await ledger.count("change_log", "subject = 'reservation'") == 0
