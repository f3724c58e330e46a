"""The loop that writes down what time has done."""

from contextlib import asynccontextmanager

import pytest

from service.jobs.expiry import BATCH, Expiry
from service.ledger import Ledger
from service.metrics import EXPIRED
from service.settings import Settings
from tests.support.money import MONTH, budget, tokens
from tests.support.waits import until

LONG = 3600.0
MANY = BATCH + BATCH // 2


@asynccontextmanager
async def sweeping(database_url, interval=LONG):
    ledger = Ledger.of(Settings(database_url=database_url))
    await ledger.open()
    try:
        async with Expiry(ledger, interval).running():
            yield
    finally:
        await ledger.close()


async def none_left(ledger, table, where):
    async def is_done():
        return await ledger.count(table, where) == 0

    await until(is_done, f"no row of {table} is left where {where}")


async def test_holds_whose_time_has_passed_are_written_down_batch_after_batch(
    ledger, clock, database_url
):
    await ledger.grant("ann", on_expiry="release")
    items = [
        {"request_id": f"r{n}", "account_id": "ann", "amounts": tokens(1), "ttl_seconds": 5}
        for n in range(MANY)
    ]
    await ledger.many("reserve", items)
    clock.advance(seconds=5)
    before = EXPIRED._value.get()
    async with sweeping(database_url):
        await none_left(ledger, "reservation", "state = 'authorized'")
    assert await ledger.count("reservation", "state = 'lapsed'") == MANY
    assert EXPIRED._value.get() == before + MANY


async def test_so_are_plans_that_have_come(ledger, clock, database_url):
    for plan in ("trial", "free"):
        await ledger.put_plan(plan, budget("cap", window=MONTH))
    soon = "2026-09-14T13:00:00Z"
    for n in range(MANY):
        await ledger.put_account(f"user-{n}", plan_id="trial")
        body = {"plan_id": "free", "at": soon}
        reply = await ledger.call("switch_plan", account_id=f"user-{n}", body=body)
        assert reply.get("status") in {None, "active"}, reply
    clock.set(soon)
    async with sweeping(database_url):
        await none_left(ledger, "account", "plan_id = 'trial'")


@pytest.mark.parametrize("pause", [LONG, 0.02], ids=["alone", "beside another"])
async def test_it_looks_again_after_its_pause(ledger, clock, database_url, pause):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(1), ttl_seconds=5)
    async with sweeping(database_url, 0.02), sweeping(database_url, pause):
        clock.advance(seconds=5)
        await none_left(ledger, "reservation", "state = 'authorized'")
    assert await ledger.count("reservation_event", "event = 'kept'") == 1
