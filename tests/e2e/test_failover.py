"""The primary stops and its streaming replica is promoted: what was acknowledged is there."""

import asyncio
import os
import random
from pathlib import Path

import asyncpg
import psycopg
import pytest

from service.postgres import PostgresServer
from tests.e2e.campaign.campaign import Campaign, Options
from tests.e2e.campaign.proxy import Proxy
from tests.e2e.campaign.stage import OPTIONS, Stage
from tests.support import databases, schemas
from tests.support.daemon import Daemon
from tests.support.money import budget, tokens
from tests.support.session import Session
from tests.support.standby import Standby
from tests.support.waits import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def place():
    with Daemon.scratch() as directory:
        yield Path(directory)


def wait_for_standbys(primary):
    """From now on a commit is acknowledged when a standby has it on its disk too."""
    with psycopg.connect(primary.dsn, autocommit=True) as admin:
        admin.execute("alter system set synchronous_standby_names = '*'")
        admin.execute("select pg_reload_conf()")


async def replicates(primary, state):
    async with await psycopg.AsyncConnection.connect(primary.dsn) as admin:
        cursor = await admin.execute("select sync_state from pg_stat_replication")
        return (state,) in await cursor.fetchall()


async def test_with_synchronous_replication_nothing_acknowledged_is_lost(place):
    stage = Stage(place / "one", 2, random.Random(1))
    played = Campaign(Options(clients=32, pause_seconds=0), stage)
    old = stage.postgres

    async def fail_over(standby):
        await asyncio.sleep(4)
        await asyncio.to_thread(old.stop, "immediate")
        stage.postgres = await asyncio.to_thread(standby.promote)

    (place / "one").mkdir()
    async with played.opened():
        standby = await asyncio.to_thread(Standby, old, place / "two", OPTIONS, old.port)
        try:
            wait_for_standbys(old)
            await until(lambda: replicates(old, "sync"), "the standby is waited for")
            await asyncio.gather(played.round(10), fail_over(standby))
            assert stage.postgres is not old
            assert played.figures.mismatches == []
            assert played.figures.counts["acknowledged decisions checked"] > 100, played.figures
            assert played.figures.no_answers, "the failover met no call"
        except BaseException:
            standby.stop()
            raise
    assert played.figures.mismatches == []


async def charge(url, request_id):
    """Charge one token, as the service does with a statement timeout; the answer."""
    session = await Session.open(url)
    await session.connection.execute("set statement_timeout = '1s'")
    try:
        async with asyncio.timeout(3):
            return await session.charge(request_id, "ann", tokens(1))
    finally:
        session.connection.terminate()


async def test_asynchronous_replication_loses_what_had_not_been_sent_and_only_that(place):
    """What is lost is done anew under its id; what waits for a lost standby is not acknowledged."""
    programs = os.environ.get("PREAUTH_TEST_PG_BIN") or None
    with PostgresServer(place / "one", programs, options=OPTIONS) as primary:
        schemas.from_sql(primary.dsn)
        wire = Proxy("primary - standby", lambda: primary.port, random.Random(1))
        await wire.open()
        standby = await asyncio.to_thread(Standby, primary, place / "two", OPTIONS, wire.port)
        try:
            session = await Session.open(primary.dsn)
            await session.put_account("ann")
            await session.put_budget("ann", "cap", budget(limit=10))
            assert (await charge(primary.dsn, "sent"))["replayed"] is False
            await until(lambda: has_caught_up(session), "the standby has caught up")
            await session.close()
            await wire.close()
            assert (await charge(primary.dsn, "not-sent"))["replayed"] is False
            wait_for_standbys(primary)
            with pytest.raises((TimeoutError, asyncpg.PostgresError)):
                await charge(primary.dsn, "waited-for")
            primary.stop("immediate")
            promoted = await asyncio.to_thread(standby.promote)
            again = [
                (await charge(promoted.dsn, name))["replayed"]
                for name in ("sent", "not-sent", "waited-for")
            ]
            assert again == [True, False, False]
            session = await Session.open(promoted.dsn)
            assert (await session.figures("ann")).settled == 3
            await session.close()
            assert databases.mismatches(promoted.dsn) == []
        finally:
            standby.stop()


async def has_caught_up(session):
    return await session.connection.fetchval(
        "select bool_and(replay_lsn >= pg_current_wal_lsn()) from pg_stat_replication"
    )
