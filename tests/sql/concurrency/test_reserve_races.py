"""Many reserve at once; the ledger decides as if one after the other."""

import asyncio
import random
from functools import partial

import pytest

from tests.support.checks import assert_problem, authorized, denied
from tests.support.money import DAY, MONTH, budget, tokens
from tests.support.session import Figures
from tests.support.waits import until


def reserve(request_id, account_id, amount, **more):
    """The same call on whichever session gets it."""
    return lambda session: session.reserve(request_id, account_id, tokens(amount), **more)


async def test_fifty_equal_requests_are_one_hold_and_one_answer(ledger):
    await ledger.grant("ann")
    replies = await ledger.race([reserve("r1", "ann", 400)] * 50)
    assert [r["replayed"] for r in replies].count(False) == 1
    assert {str({**r, "replayed": None}) for r in replies}.__len__() == 1
    assert await ledger.figures("ann") == Figures(0, 400, 600)
    assert await ledger.count("hold_line") == 1


async def test_fifty_equal_denied_requests_are_one_denial(ledger):
    await ledger.grant("ann")
    replies = await ledger.race([reserve("r1", "ann", 4000)] * 50)
    assert len(denied(replies)) == 50
    assert [r["replayed"] for r in replies].count(False) == 1
    assert await ledger.count("reservation") == 1


async def test_of_fifty_other_bodies_under_one_id_one_is_decided(ledger):
    await ledger.grant("ann", 100_000)
    replies = await ledger.race([reserve("r1", "ann", n + 1) for n in range(50)])
    (winner,) = authorized(replies)
    assert sum(r.get("status") == 409 for r in replies) == 49
    assert (await ledger.window("ann"))["reserved"] == winner["lines"][0]["amount"]


async def test_fifty_times_400_against_1000_authorizes_two(ledger):
    await ledger.grant("ann")
    replies = await ledger.race([reserve(f"r{n}", "ann", 400) for n in range(50)])
    assert (len(authorized(replies)), len(denied(replies))) == (2, 48)
    assert await ledger.figures("ann") == Figures(0, 800, 200)


@pytest.fixture
async def tree(ledger):
    """Five accounts under team under org, each with a budget; ten with one plan."""
    await ledger.put_plan(
        "p", budget("month", 10**6, window=MONTH), budget("day", 10**6, window=DAY)
    )
    await ledger.put_account("org", plan_id="p")
    await ledger.put_account("team", plan_id="p", parent_id="org")
    for n in range(5):
        await ledger.put_account(f"a{n}", plan_id="p", parent_id="team")
    return ledger


async def test_200_reserves_on_four_shared_windows_neither_deadlock_nor_get_lost(tree):
    names = [f"a{n % 5}" for n in range(200)]
    random.Random(7).shuffle(names)
    replies = await tree.race([reserve(f"r{n}", a, 10) for n, a in enumerate(names)])
    assert len(authorized(replies)) == 200
    for scope in ("org", "team"):
        for name in ("month", "day"):
            assert (await tree.window("a0", name, scope))["reserved"] == 2000
    assert (await tree.window("a0", "day"))["reserved"] == 400


async def test_batches_in_opposite_order_do_not_deadlock(tree):
    accounts = ["org", "team", *(f"a{n}" for n in range(5))]

    def batch(n, order):
        items = [
            {"request_id": f"b{n}", "account_id": account, "amounts": tokens(1)}
            for account in order
        ]
        return lambda session: session.many("reserve", items)

    orders = [accounts, accounts[::-1]]
    batches = await tree.race([batch(n, orders[n % 2]) for n in range(60)], connections=20)
    assert all(row.status == 200 for rows in batches for row in rows)
    assert (await tree.window("org", "day"))["reserved"] == 60 * 7


async def test_mixed_batches_of_every_call_do_not_deadlock(tree):
    calls = []
    for n in range(120):
        account, rng = f"a{n % 5}", random.Random(n)
        calls += [
            partial(
                _story, request_id=f"s{n}", account=account, used=rng.randrange(20), ending=n % 4
            )
        ]
    await tree.race(calls, connections=30)
    spent = sum([(await tree.figures(f"a{n}", "day")).settled for n in range(5)])
    assert (await tree.figures("org", "day")) == Figures(spent, 0, 10**6 - spent)


async def _story(session, request_id, account, used, ending):
    """Reserve, then settle, release, charge besides, or settle twice."""
    await session.reserve(request_id, account, tokens(10))
    if ending == 1:
        return await session.release(request_id)
    if ending == 2:
        await session.charge(f"{request_id}-c", account, tokens(3))
    if ending == 3:
        await session.settle(request_id, tokens(used))
    return await session.settle(request_id, tokens(used))


@pytest.mark.parametrize("round_", range(5))
async def test_first_requests_of_a_new_account_in_parallel_make_one_window(ledger, round_):
    await ledger.put_plan("free", budget("cap", 1000, window=DAY))
    calls = [_first(n) for n in range(8)]
    replies = await ledger.race(calls, connections=8)
    assert len(authorized(replies)) == 8
    assert (await ledger.count("account"), await ledger.count("budget_window")) == (1, 1)
    assert await ledger.figures("new") == Figures(0, 800, 200)


def _first(n):
    async def call(session):
        await session.connection.execute("set preauth.default_plan = 'free'")
        return await session.reserve(f"r{n}", "new", tokens(100))

    return call


async def test_first_requests_of_a_new_period_in_parallel_make_one_window(ledger, clock):
    await ledger.grant("ann", window=DAY)
    await ledger.charge("c0", "ann", tokens(1000))
    for day in range(1, 6):
        clock.advance(days=1)
        calls = [reserve(f"r{day}-{n}", "ann", 300) for n in range(8)]
        assert len(authorized(await ledger.race(calls, connections=8))) == 3
        assert await ledger.count("budget_window") == day + 1


async def test_open_holds_are_bounded_under_a_rush(ledger):
    await ledger.put_account("ann", max_open_holds=3)
    await ledger.grant("ann", 10**6)
    replies = await ledger.race([reserve(f"r{n}", "ann", 1) for n in range(40)])
    assert len(authorized(replies)) == 3
    assert {r["reason"] for r in denied(replies)} == {"too_many_holds"}


async def test_siblings_share_the_last_room_of_their_parent(ledger):
    await ledger.grant("org", 1000)
    for n in range(10):
        await ledger.put_account(f"a{n}", parent_id="org")
    replies = await ledger.race([reserve(f"r{n}", f"a{n % 10}", 90) for n in range(50)])
    assert len(authorized(replies)) == 11
    assert await ledger.figures("org") == Figures(0, 990, 10)


async def test_a_flood_of_denials_gives_back_lapsed_leases(ledger, clock):
    await ledger.grant("org", 5000, on_expiry="release")
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 1000, on_expiry="release")
    for n in range(10):
        await ledger.reserve(f"lease{n}", "ann", tokens(100), ttl_seconds=5)
    clock.advance(seconds=5)
    replies = await ledger.race([reserve(f"r{n}", "ann", 1001) for n in range(60)])
    assert len(denied(replies)) == 60
    for scope in ("ann", "org"):
        assert (await ledger.figures("ann", scope=scope)).reserved == 0
    assert (await ledger.reserve("whole", "ann", tokens(1000)))["decision"] == "authorized"


async def test_a_rush_for_the_room_of_lapsed_leases_fills_it_exactly(ledger, clock):
    await ledger.grant("ann", 1000, on_expiry="release")
    for n in range(10):
        await ledger.reserve(f"lease{n}", "ann", tokens(100), ttl_seconds=5)
    clock.advance(seconds=5)
    replies = await ledger.race([reserve(f"r{n}", "ann", 100) for n in range(50)])
    assert len(authorized(replies)) == 10
    assert await ledger.figures("ann") == Figures(0, 1000, 0)


async def test_an_id_that_another_call_has_just_used_on_other_windows_holds_nothing(ledger):
    """Nothing but the key itself stops the second: they share no window."""
    for model in ("one", "two"):
        await ledger.grant("ann", 1000, model, model=model)
        await ledger.reserve(f"first-{model}", "ann", tokens(1), model=model)
    winner, loser = await ledger.sessions(2)
    transaction = winner.connection.transaction()
    await transaction.start()
    await winner.reserve("r", "ann", tokens(10), model="one")
    waiting = asyncio.create_task(loser.reserve("r", "ann", tokens(10), model="two"))
    await until(lambda: ledger.waits(loser), "the second waits")
    await transaction.commit()
    assert_problem(await waiting, 409, "request_id_conflict")
    assert await ledger.figures("ann", "one") == Figures(0, 11, 989)
    assert await ledger.figures("ann", "two") == Figures(0, 1, 999)
