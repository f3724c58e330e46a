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


async def test_a_reserve_that_waited_for_a_change_decides_by_the_budget_as_changed(ledger):
    await ledger.grant("ann", 1000, enforcement="soft", overdraft_amount=500)
    await ledger.charge("spent", "ann", {"tokens": 900})
    changing, reserving = await ledger.sessions(2)
    change = changing.connection.transaction()
    await change.start()
    await changing.call("put_budget", account_id="ann", name="cap", body=budget(limit=950))
    waiting = asyncio.ensure_future(reserving.reserve("r", "ann", {"tokens": 400}))
    await until_waiting(ledger)
    await change.commit()
    reply = await waiting
    assert (reply["decision"], reply["available"], reply["limit"]) == ("denied", 50, 950)


async def until_waiting(ledger) -> None:
    blocked = "select count(*) from pg_locks where not granted"
    while await ledger.connection.fetchval(blocked) == 0:
        await asyncio.sleep(0.01)
