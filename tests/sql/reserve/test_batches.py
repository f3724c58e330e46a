"""``reserve_many``: each item decided in order as if alone, in one round trip."""

import asyncpg
import pytest

from tests.support.checks import assert_denied, assert_problem, assert_same
from tests.support.money import tokens


def item(request_id, amount, account_id="ann", **more):
    return {"request_id": request_id, "account_id": account_id, "amounts": tokens(amount), **more}


async def test_rows_come_back_in_the_order_of_the_items(ledger, clock):
    for account in ("zoe", "ann", "bob"):
        await ledger.grant(account)
    rows = await ledger.many(
        "reserve", [item("r1", 1, "zoe"), item("r2", 2, "ann"), item("r3", 3, "bob")]
    )
    assert [row.n for row in rows] == [1, 2, 3]
    assert [row.body["request_id"] for row in rows] == ["r1", "r2", "r3"]


async def test_a_refused_or_denied_item_does_not_touch_its_neighbours(ledger, clock):
    await ledger.grant("ann")
    rows = await ledger.many(
        "reserve",
        [
            item("r1", 400),
            item("r2", -1),
            item("r3", 5000),
            {"nonsense": True},
            item("r4", 1, "nobody"),
            item("r5", 600),
        ],
    )
    assert [row.status for row in rows] == [200, 400, 402, 400, 402, 200]
    assert (await ledger.window("ann"))["reserved"] == 1000


async def test_of_two_items_for_the_last_room_the_first_gets_it(ledger, clock):
    await ledger.grant("ann")
    rows = await ledger.many("reserve", [item("r1", 600), item("r2", 600)])
    assert rows[0].body["decision"] == "authorized"
    assert_denied(rows[1].body, "budget_exhausted", available=400)


async def test_a_smaller_item_after_a_denied_one_still_fits(ledger, clock):
    await ledger.grant("ann")
    rows = await ledger.many("reserve", [item("r1", 600), item("r2", 600), item("r3", 400)])
    assert [row.body["decision"] for row in rows] == ["authorized", "denied", "authorized"]
    assert [row.body["lines"][0]["available"] for row in (rows[0], rows[2])] == [400, 0]


async def test_the_same_item_twice_in_a_batch_is_one_hold(ledger, clock):
    await ledger.grant("ann")
    rows = await ledger.many("reserve", [item("r1", 600), item("r1", 600)])
    assert_same(rows[0].body, rows[1].body)
    assert (await ledger.window("ann"))["reserved"] == 600


async def test_an_id_twice_in_a_batch_with_other_bodies_is_a_conflict(ledger, clock):
    await ledger.grant("ann")
    rows = await ledger.many("reserve", [item("r1", 100), item("r1", 200), item("r1", 100)])
    assert rows[0].body["decision"] == "authorized"
    assert_problem(rows[1].body, 409, "request_id_conflict")
    assert_same(rows[0].body, rows[2].body)
    assert (await ledger.window("ann"))["reserved"] == 100


async def test_a_denied_item_twice_in_a_batch_is_one_denial(ledger, clock):
    await ledger.grant("ann")
    rows = await ledger.many("reserve", [item("r1", 5000), item("r1", 5000)])
    assert_same(rows[0].body, rows[1].body)
    assert await ledger.count("reservation") == 1


async def test_one_id_of_two_accounts_in_a_batch_is_two_holds(ledger, clock):
    await ledger.grant("ann")
    await ledger.grant("bob")
    rows = await ledger.many("reserve", [item("r1", 5), item("r1", 6, "bob")])
    assert [row.body["replayed"] for row in rows] == [False, False]


async def test_items_under_one_root_share_its_room_in_order(ledger, clock):
    await ledger.grant("org", 100)
    for account in ("ann", "bob"):
        await ledger.put_account(account, parent_id="org")
    items = [item(f"r{n}", 30, account) for n, account in enumerate(["bob", "ann"] * 3)]
    rows = await ledger.many("reserve", items)
    assert [row.body["decision"] for row in rows] == ["authorized"] * 3 + ["denied"] * 3


async def test_replays_and_new_requests_mix_in_a_batch(ledger, clock):
    await ledger.grant("ann")
    (first,) = await ledger.many("reserve", [item("r1", 100)])
    rows = await ledger.many("reserve", [item("r2", 100), item("r1", 100), item("r3", 100)])
    assert [row.body["replayed"] for row in rows] == [False, True, False]
    assert_same(first.body, rows[1].body)
    assert (await ledger.window("ann"))["reserved"] == 300


async def test_a_batch_of_512_is_decided(ledger, clock):
    await ledger.grant("ann", 500)
    rows = await ledger.many("reserve", [item(f"r{n}", 1) for n in range(512)])
    assert [row.n for row in rows] == list(range(1, 513))
    assert [row.body["decision"] for row in rows] == ["authorized"] * 500 + ["denied"] * 12


@pytest.mark.parametrize(
    "items",
    [[item(f"r{n}", 1) for n in range(513)], {"request_id": "r1"}, "text", 7],
    ids=["513 items", "an object", "text", "a number"],
)
async def test_what_is_no_batch_is_misuse_and_nothing_is_written(ledger, clock, items):
    await ledger.grant("ann")
    before = await ledger.contents()
    with pytest.raises(asyncpg.PostgresError) as caught:
        await ledger.many("reserve", items)
    assert caught.value.sqlstate == "PA001"
    assert await ledger.contents() == before


async def test_an_item_outside_the_callers_subtree_is_forbidden(ledger, clock):
    await ledger.grant("org")
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("rival")
    rows = await ledger.many(
        "reserve",
        [item("r1", 1), item("r2", 1, "rival"), item("r3", 1, "org")],
        within=["org", "org", "ann"],
    )
    assert [row.status for row in rows] == [200, 403, 403]
    assert_problem(rows[1].body, 403, "forbidden")
    assert (await ledger.window("rival"))["reserved"] == 0


async def test_the_actor_of_each_item_is_in_its_timeline(ledger, clock):
    await ledger.grant("ann")
    await ledger.many("reserve", [item("r1", 1), item("r2", 1)], actors=["key_a", "key_b"])
    for request_id, actor in (("r1", "key_a"), ("r2", "key_b")):
        timeline = (await ledger.reservation(request_id))["timeline"]
        assert [event["actor"] for event in timeline] == [actor]


async def test_a_replay_takes_no_room_from_what_is_new_beside_it(ledger):
    await ledger.grant("ann")
    first = {"request_id": "r1", "account_id": "ann", "amounts": tokens(300)}
    await ledger.many("reserve", [first])
    new = {"request_id": "r2", "account_id": "ann", "amounts": tokens(600)}
    rows = await ledger.many("reserve", [first, new])
    assert [(row.status, row.body["replayed"]) for row in rows] == [(200, True), (200, False)]
