"""Base backup and write-ahead log, as docs/operations.md says: to the last instant, or to a chosen one."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from service.backup import program
from service.postgres import PostgresServer
from service.postgres.identity import choose_identity
from tests.support import databases, schemas
from tests.support.ledger import Ledger
from tests.support.money import tokens
from tests.support.session import Figures
from tests.support.waits import until_sync

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

BINARIES = os.environ.get("PREAUTH_TEST_PG_BIN") or None
POINT = "before-the-mistake"


@pytest.fixture
def place():
    """A directory that the user who runs PostgreSQL may enter."""
    with tempfile.TemporaryDirectory(prefix="preauth-e2e-", ignore_cleanup_errors=True) as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture
def primary(place):
    """A server that archives its log to ``log/``, as every production server should."""
    archive = place / "log"
    archive.mkdir()
    archive.chmod(0o777)
    options = {
        "archive_mode": "on",
        "archive_command": f"test ! -f {archive}/%f && cp %p {archive}/%f",
    }
    with PostgresServer(place / "primary", BINARIES, options=options) as running:
        schemas.from_sql(running.dsn)
        yield running


def base_backup(server, target):
    command = [program("pg_basebackup"), f"--dbname={server.tcp_dsn}", "--checkpoint=fast"]
    subprocess.run([*command, "--pgdata", target], check=True)


@contextmanager
def recovered(base, log, home, **settings):
    """Another server, from the base backup and the archived log, once it takes writes."""
    server = PostgresServer(
        home,
        BINARIES,
        options={
            "restore_command": f"cp {log}/%f %p",
            "recovery_target_action": "promote",
            **settings,
        },
    )
    server.home.postgres.mkdir(parents=True, mode=0o700)
    shutil.copytree(base, server.home.data)
    (server.home.data / "recovery.signal").touch()
    who = choose_identity(server.home.root / "nobody-yet")
    if who.switched:
        for path in (server.home.postgres, *server.home.postgres.rglob("*")):
            os.chown(path, who.uid, who.gid)
    with server:
        until_sync(lambda: takes_writes(server), "the server is promoted", seconds=60)
        yield server


def takes_writes(server):
    with psycopg.connect(server.dsn) as connection:
        return connection.execute("select not pg_is_in_recovery()").fetchone()[0]


@pytest.fixture
async def archived(primary, place):
    """A base backup with a hold open, then settlements, then something to undo; the server is gone."""
    ledger = await Ledger.start(primary.dsn)
    await ledger.grant("ann", limit=1000)
    await ledger.reserve("open", "ann", tokens(100))
    base_backup(primary, place / "base")
    await ledger.settle("open", tokens(60))
    await ledger.reserve("later", "ann", tokens(200))
    await ledger.connection.execute("select pg_create_restore_point($1)", POINT)
    await ledger.charge("last", "ann", tokens(7))
    await ledger.stop()
    with psycopg.connect(primary.dsn, autocommit=True) as connection:
        connection.execute("select pg_switch_wal()")
    primary.stop()  # in order: it archives what is left
    shutil.rmtree(primary.home.root)
    return place / "base", place / "log"


async def test_nothing_acknowledged_is_missing_after_recovery_from_base_and_log(archived, place):
    with recovered(*archived, place / "second") as server:
        assert databases.mismatches(server.dsn) == []
        ledger = await Ledger.start(server.dsn)
        assert await ledger.figures("ann") == Figures(67, 200, 733)
        assert (await ledger.settle("open", tokens(60)))["replayed"]
        assert (await ledger.charge("last", "ann", tokens(7)))["replayed"]
        await ledger.settle("later", tokens(200))
        assert await ledger.figures("ann") == Figures(267, 0, 733)
        await ledger.stop()
        assert databases.mismatches(server.dsn) == []


async def test_the_ledger_of_a_chosen_instant_has_all_before_and_nothing_after(archived, place):
    with recovered(*archived, place / "second", recovery_target_name=POINT) as server:
        assert databases.mismatches(server.dsn) == []
        ledger = await Ledger.start(server.dsn)
        assert await ledger.figures("ann") == Figures(60, 200, 740)
        assert (await ledger.settle("open", tokens(60)))["replayed"]
        assert not (await ledger.charge("last", "ann", tokens(7)))["replayed"]
        await ledger.stop()
        assert databases.mismatches(server.dsn) == []
