"""``max_open_holds`` bounds concurrency in the same decision."""

from tests.support.checks import assert_denied
from tests.support.money import budget, tokens


async def grant(ledger, holds, **more):
    await ledger.put_account("ann", max_open_holds=holds)
    await ledger.grant("ann", **more)


async def test_the_hold_after_the_last_allowed_one_is_denied(ledger, clock):
    await grant(ledger, 2)
    for n in range(2):
        assert (await ledger.reserve(f"r{n}", "ann", tokens(1)))["decision"] == "authorized"
    assert_denied(await ledger.reserve("r2", "ann", tokens(1)), "too_many_holds")
    assert (await ledger.window("ann"))["reserved"] == 2


async def test_a_settled_or_released_hold_makes_room_at_once(ledger, clock):
    await grant(ledger, 2)
    await ledger.reserve("r1", "ann", tokens(1))
    await ledger.reserve("r2", "ann", tokens(1))
    await ledger.settle("r1", tokens(1))
    assert (await ledger.reserve("r3", "ann", tokens(1)))["decision"] == "authorized"
    await ledger.release("r2")
    assert (await ledger.reserve("r4", "ann", tokens(1)))["decision"] == "authorized"
    assert_denied(await ledger.reserve("r5", "ann", tokens(1)), "too_many_holds")


async def test_a_lease_that_lapsed_is_no_open_hold(ledger, clock):
    await grant(ledger, 1, on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(1), ttl_seconds=5)
    clock.advance(seconds=4.999)
    assert_denied(await ledger.reserve("r2", "ann", tokens(1)), "too_many_holds")
    clock.advance(milliseconds=1)
    assert (await ledger.reserve("r3", "ann", tokens(1)))["decision"] == "authorized"


async def test_the_bound_is_kept_within_one_batch(ledger, clock):
    await grant(ledger, 2)
    items = [{"request_id": f"r{n}", "account_id": "ann", "amounts": tokens(1)} for n in range(4)]
    rows = await ledger.many("reserve", items)
    assert [row.body["decision"] for row in rows] == ["authorized"] * 2 + ["denied"] * 2


async def test_a_charge_holds_nothing_and_is_not_bounded(ledger, clock):
    await grant(ledger, 1)
    for n in range(3):
        await ledger.charge(f"c{n}", "ann", tokens(1))
    assert (await ledger.reserve("r1", "ann", tokens(1)))["decision"] == "authorized"


async def test_a_denied_reserve_is_not_an_open_hold(ledger, clock):
    await grant(ledger, 1)
    assert_denied(await ledger.reserve("r1", "ann", tokens(1001)), "exceeds_limit")
    assert (await ledger.reserve("r2", "ann", tokens(1)))["decision"] == "authorized"


async def test_a_bound_on_open_holds_alone_is_no_budget(ledger, clock):
    await ledger.put_account("ann", max_open_holds=5)
    assert_denied(await ledger.reserve("r1", "ann", tokens(1)), "no_budget", status=402)
    assert_denied(await ledger.charge("c1", "ann", tokens(1)), "no_budget", status=402)


async def test_nor_is_it_where_no_budget_counts_the_model(ledger, clock):
    await ledger.put_account("org", max_open_holds=5)
    await ledger.put_account("ann", parent_id="org", max_open_holds=5)
    await ledger.put_budget("ann", "opus", budget(limit=1000, model="opus"))
    assert_denied(await ledger.reserve("r1", "ann", tokens(1), model="haiku"), "no_budget")
    assert (await ledger.reserve("r2", "ann", tokens(1), model="opus"))["decision"] == "authorized"


async def test_nor_is_it_where_no_budget_that_is_left_is_told_its_unit(ledger, clock):
    await grant(ledger, 5, unit="credits", enforcement="soft")
    assert_denied(await ledger.reserve("r1", "ann", tokens(1)), "no_budget")
    assert (await ledger.reserve("r2", "ann", {"credits": 1}))["decision"] == "authorized"


async def test_an_alternative_that_no_budget_counts_is_not_waited_for(ledger, clock):
    await ledger.put_account("ann", max_open_holds=5)
    await ledger.put_budget("ann", "opus", budget(limit=10, model="opus"))
    other = {"model": "haiku", "amounts": tokens(1)}
    denial = await ledger.reserve("r1", "ann", tokens(11), model="opus", alternatives=[other])
    assert_denied(denial, "exceeds_limit", status=402, retry_after_ms=None)
