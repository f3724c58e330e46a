"""Plans change while they are spent from."""

import asyncio
from itertools import chain

from tests.support.money import budget


def amounts(limit: int, *names: str) -> list[dict]:
    return [budget(name, limit, unit=name) for name in names]


async def test_a_plan_put_in_another_order_than_it_was_made_deadlocks_with_nobody(ledger):
    await ledger.call("put_plan", plan_id="p", body={"budgets": amounts(10**9, "aa", "bb")})
    for n in range(10):
        await ledger.put_account(f"a{n}", plan_id="p")
    reserving = await ledger.sessions(8)
    putting = await ledger.connect()

    async def reserve(session, worker: int) -> list[str]:
        spend = {"aa": 1, "bb": 1}
        replies = [
            await session.reserve(f"{worker}-{n}", f"a{(worker * 7 + n) % 10}", spend)
            for n in range(40)
        ]
        return [reply["decision"] for reply in replies]

    async def put() -> None:
        for n in range(15):
            body = {"budgets": amounts(10**9 + n, "bb", "aa")}
            await putting.call("put_plan", plan_id="p", body=body)

    *decisions, _ = await asyncio.gather(*(reserve(s, n) for n, s in enumerate(reserving)), put())
    assert set(chain.from_iterable(decisions)) == {"authorized"}
