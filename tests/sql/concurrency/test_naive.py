"""The race must be lost by a ledger that reads, decides and then writes: else it proves nothing."""

from pathlib import Path

from tests.support.races import fifty_for_the_room_of_two, real_reserve

NAIVE = Path(__file__).parents[2] / "support" / "naive.sql"
ROUNDS = 40


async def naive_reserve(session, request_id, amount):
    return await session.connection.fetchval("select naive.reserve('ann', $1)", amount)


async def refill(ledger):
    await ledger.connection.execute(
        "insert into naive.budget_window values ('ann', 1000)"
        " on conflict (account_id) do update set reserved = 0"
    )


async def test_read_then_write_authorizes_more_than_fits(ledger):
    await ledger.connection.execute(NAIVE.read_text())
    for _ in range(ROUNDS):
        await refill(ledger)
        if await fifty_for_the_room_of_two(ledger, naive_reserve) > 2:
            return
    raise AssertionError(f"the naive ledger won {ROUNDS} races: they are no races")


async def test_alone_the_naive_ledger_looks_right(ledger):
    await ledger.connection.execute(NAIVE.read_text())
    await refill(ledger)
    decisions = [await naive_reserve(ledger, f"r{n}", 400) for n in range(3)]
    assert decisions == ["authorized", "authorized", "denied"]


async def test_the_ledger_wins_the_very_same_race(ledger):
    await ledger.grant("ann")
    assert await fifty_for_the_room_of_two(ledger, real_reserve) == 2
