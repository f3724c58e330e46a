"""The service stops without losing what it has begun."""

import asyncio

import asyncpg

from tests.api.client import over_sockets, settings_for
from tests.support.ledger import Ledger
from tests.support.waits import until

WAITING = (
    "select count(*) from pg_stat_activity"
    " where application_name = 'preauth' and wait_event_type = 'Lock' and datname = current_database()"
)


async def test_requests_in_flight_are_answered_before_it_stops(
    database_url: str, ledger: Ledger
) -> None:
    await ledger.grant("a")
    async with over_sockets(settings_for(database_url)) as (api, server):
        blocker = await asyncpg.connect(database_url)
        transaction = blocker.transaction()
        await transaction.start()
        await blocker.execute("lock table preauth.reservation in access exclusive mode")
        asked = asyncio.create_task(api.reserve("r", "a", 1))

        async def parked() -> bool:
            return bool(await ledger.connection.fetchval(WAITING))

        await until(parked, "the request waits for the lock")
        server.should_exit = True
        await asyncio.sleep(0.2)
        assert not asked.done()
        await transaction.rollback()
        await blocker.close()
        assert (await asked).status_code == 200
    assert await ledger.count("reservation") == 1


async def test_no_connection_is_left_behind(database_url: str, ledger: Ledger) -> None:
    await ledger.grant("a")
    async with over_sockets(settings_for(database_url, expiry_interval_seconds=0.01)) as (api, _):
        await asyncio.gather(*(api.reserve(f"r{n}", "a", 1) for n in range(20)))

    async def gone() -> bool:
        sql = "select count(*) from pg_stat_activity where application_name = 'preauth' and datname = current_database()"
        return not await ledger.connection.fetchval(sql)

    await until(gone, "the pool is closed")
