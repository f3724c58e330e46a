"""Field reports B, C and G: money counted twice, or never given back."""

import asyncio
import random

import asyncpg
import pytest

from tests.support.checks import assert_problem, assert_same, authorized
from tests.support.money import DAY, MONTH, budget, tokens
from tests.support.session import Figures
from tests.support.waits import until


async def test_b6_a_settlement_whose_server_was_killed_half_way_counts_once(ledger):
    """B6: open hold, settle fails half-way; settle again."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    victim = await ledger.connect()
    parked = await ledger.connect()
    lock = parked.connection.transaction()
    await lock.start()
    await parked.connection.fetch("select 1 from preauth.budget_window for update")
    settling = asyncio.create_task(victim.settle("r1", tokens(150)))
    await until(lambda: ledger.waits(victim), "the settlement is half-way")
    await ledger.connection.execute("select pg_terminate_backend($1)", victim.pid)
    with pytest.raises((asyncpg.PostgresError, ConnectionError, asyncpg.InterfaceError)):
        await settling
    await lock.rollback()
    assert await ledger.figures("ann") == Figures(0, 400, 600)
    await ledger.settle("r1", tokens(150))
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_b6_a_settlement_that_was_never_committed_counts_once(ledger):
    """B6: the settlement was made, its transaction lost before the commit."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    lost = ledger.connection.transaction()
    await lost.start()
    await ledger.settle("r1", tokens(150))
    await lost.rollback()
    assert (await ledger.settle("r1", tokens(150)))["replayed"] is False
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_b8_a_small_settlement_of_a_large_hold_makes_room_at_once(ledger):
    """B8: hold nearly as large as the limit; settle small, reserve again."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(990))
    assert (await ledger.reserve("r2", "ann", tokens(900)))["decision"] == "denied"
    await ledger.settle("r1", tokens(20))
    assert (await ledger.reserve("r3", "ann", tokens(900)))["decision"] == "authorized"


@pytest.mark.parametrize("order", ["sweep first", "settle first", "both at once"])
async def test_b10_sweep_and_settlement_count_the_spend_once_in_each_order(ledger, clock, order):
    """B10: hold past its ttl, on_expiry: release."""
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=5)
    other = await ledger.connect()
    if order == "sweep first":
        await ledger.expire()
        await ledger.settle("r1", tokens(150))
    elif order == "settle first":
        await ledger.settle("r1", tokens(150))
        await ledger.expire()
    else:
        await asyncio.gather(
            other.call("expire_due", max_count=10), ledger.settle("r1", tokens(150))
        )
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_c1_the_same_settlement_sent_twice_counts_once(ledger):
    """C1: the same settlement sent twice."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    first = await ledger.settle("r1", tokens(150))
    assert_same(first, await ledger.settle("r1", tokens(150)))
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_c4_200_parallel_reserves_on_the_same_four_windows_all_succeed(ledger):
    """C4: 200 parallel reserves touching the same 4 windows, in random account order."""
    await ledger.put_plan("p", budget("m", 10**6, window=MONTH), budget("d", 10**6, window=DAY))
    await ledger.put_account("org", plan_id="p")
    await ledger.put_account("team", plan_id="p", parent_id="org")
    names = [random.Random(n).choice(["team", "org", "team"]) for n in range(200)]
    replies = await ledger.race(
        [lambda s, n=n, a=a: s.reserve(f"r{n}", a, tokens(10)) for n, a in enumerate(names)]
    )
    assert len(authorized(replies)) == 200
    assert await ledger.count("budget_window") == 4
    assert (await ledger.figures("org", "m")).reserved == 2000
    assert (await ledger.figures("team", "d")).reserved == 10 * names.count("team")


async def test_c10_a_call_of_unknown_outcome_keeps_its_hold_until_its_usage_is_known(ledger):
    """C10: client timed out, provider may have billed."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    await ledger.settle("r1", outcome="unknown")
    assert await ledger.figures("ann") == Figures(0, 400, 600)
    await ledger.settle("r1", tokens(150))
    await ledger.settle("r1", tokens(150))
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_g3_fifty_parallel_reserves_with_one_id_are_one_hold(ledger):
    """G3: 50 parallel reserves with one request_id."""
    await ledger.grant("ann")
    replies = await ledger.race([lambda s: s.reserve("r1", "ann", tokens(400))] * 50)
    assert len({str({**r, "replayed": None}) for r in replies}) == 1
    assert await ledger.figures("ann") == Figures(0, 400, 600)


async def test_g4_the_second_release_answers_as_the_first(ledger):
    """G4: release twice."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    first = await ledger.release("r1")
    assert_same(first, await ledger.release("r1"))
    assert await ledger.figures("ann") == Figures(0, 0, 1000)


async def test_g5_a_denied_reservation_cannot_be_settled(ledger):
    """G5: a denied reservation; settle."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(1200))
    assert_problem(await ledger.settle("r1", tokens(1)), 409, "not_authorized")
    assert await ledger.figures("ann") == Figures(0, 0, 1000)


async def test_g6_usage_above_the_hold_is_charged_or_refused_as_the_budget_says(ledger):
    """G6: hold 1000, actual 1500; under overage: charge; under reject."""
    await ledger.grant("ann", 5000, overage="charge")
    await ledger.grant("bob", 5000, overage="reject")
    for account in ("ann", "bob"):
        await ledger.reserve("r1", account, tokens(1000))
    charged = await ledger.settle("r1", tokens(1500), account_id="ann")
    assert charged["overage"] == {"tokens": 500}
    assert await ledger.figures("ann") == Figures(1500, 0, 3500)
    refused = await ledger.settle("r1", tokens(1500), account_id="bob")
    assert_problem(refused, 409, "settlement_exceeds_hold")
    assert await ledger.figures("bob") == Figures(0, 1000, 4000)


async def test_g7_usage_after_the_hold_lapsed_counts_once_and_is_late(ledger, clock):
    """G7: hold lapsed; settle."""
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=60)
    first = await ledger.settle("r1", tokens(150))
    assert first["late"] is True
    assert_same(first, await ledger.settle("r1", tokens(150)))
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_g10_the_same_id_with_another_amount_moves_nothing(ledger):
    """G10: same request_id, other amount."""
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    assert_problem(await ledger.reserve("r1", "ann", tokens(500)), 409, "request_id_conflict")
    assert await ledger.figures("ann") == Figures(0, 400, 600)
