"""A backup goes into an empty server, and the ledger carries on there with the same ids."""

import os
import stat
import subprocess

import psycopg
import pytest
from click.testing import CliRunner

import service.backup as backups
from service.backup import BackupError, backup, program, restore
from service.cli import main
from service.freeze import FAST
from service.postgres import PostgresServer
from tests.support import databases
from tests.support.ledger import Ledger
from tests.support.money import MONTH, budget, rolling, tokens
from tests.support.session import Figures

BINARIES = os.environ.get("PREAUTH_TEST_PG_BIN") or None
SAID_AGAIN = [
    ("reserve", {"request_id": "open", "account_id": "ann", "amounts": tokens(100)}),
    ("reserve", {"request_id": "settled", "account_id": "ann", "amounts": tokens(200)}),
    ("reserve", {"request_id": "denied", "account_id": "ann", "amounts": tokens(900)}),
    ("settle", {"request_id": "settled", "amounts": tokens(150)}),
    ("charge", {"request_id": "charged", "account_id": "ann", "amounts": tokens(30)}),
]


@pytest.fixture
async def told(ledger):
    """A ledger with something of everything; what each call is answered when it is repeated."""
    await ledger.put_plan("free", budget("monthly", window=MONTH), budget("ever", limit=None))
    await ledger.put_account("ann", plan_id="free")
    await ledger.put_budget("ann", "day", budget(limit=1000, window=rolling(86_400, 24)))
    await say(ledger)
    return await say(ledger)


async def say(ledger):
    return [await ledger.call(call, **arguments) for call, arguments in SAID_AGAIN]


@pytest.fixture
def file(told, database_url, tmp_path):
    backup(database_url, tmp_path / "ledger.dump")
    return tmp_path / "ledger.dump"


@pytest.fixture
def empty_server(tmp_path_factory):
    """A server on which nothing of the ledger ever was, not even its roles."""
    with PostgresServer(tmp_path_factory.mktemp("pg"), BINARIES, options=FAST) as running:
        yield running


async def test_an_empty_server_carries_on_with_the_same_ids(file, told, empty_server):
    restore(empty_server.dsn, file)

    assert databases.mismatches(empty_server.dsn) == []
    ledger = await Ledger.start(empty_server.dsn)
    try:
        again = await say(ledger)
        assert all(answer["replayed"] for answer in again)
        assert again == told
        assert await ledger.figures("ann", "monthly") == Figures(180, 100, 720)
        await ledger.settle("open", tokens(60))
        await ledger.charge("new", "ann", tokens(5))
        assert await ledger.figures("ann", "monthly") == Figures(245, 0, 755)
        assert await ledger.figures("ann", "day") == Figures(245, 0, 755)
    finally:
        await ledger.stop()
    assert databases.mismatches(empty_server.dsn) == []


async def test_owners_and_grants_are_those_of_an_installation(file, database_url, empty_server):
    restore(empty_server.dsn, file)

    with psycopg.connect(empty_server.dsn) as connection:
        owners = connection.execute("select distinct owner::regrole::text from preauth._things()")
        assert owners.fetchall() == [("preauth_owner",)]
        connection.execute("set role preauth_audit")
        assert connection.execute("select count(*) from preauth_api.verify()").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select from preauth.reservation")


async def test_what_is_restored_is_row_for_row_what_was_backed_up(file, ledger, empty_database_url):
    restore(empty_database_url, file)

    other = await Ledger.start(empty_database_url)
    try:
        assert await other.contents() == await ledger.contents()
    finally:
        await other.stop()


def test_a_role_that_is_no_superuser_can_back_up_and_restore(file, cluster, database_url, tmp_path):
    who = f"installer_{os.getpid()}"
    with (
        psycopg.connect(cluster.url("postgres"), autocommit=True) as admin,
        databases.temporary(cluster) as url,
    ):
        admin.execute(f"create role {who} login createrole in role preauth_owner")
        try:
            name = url.partition("@/")[2].partition("?")[0]
            admin.execute(f"grant create on database {name} to {who}")
            backup(database_url.replace("postgres@", f"{who}@"), tmp_path / "mine.dump")
            restore(url.replace("postgres@", f"{who}@"), tmp_path / "mine.dump")
            assert databases.mismatches(url) == []
        finally:
            with psycopg.connect(url, autocommit=True) as there:
                there.execute(f"drop owned by {who}")
            admin.execute(f"drop role {who}")


def test_a_database_that_has_a_ledger_is_left_alone(file, database_url):
    with pytest.raises(BackupError, match=r"has a schema preauth and a schema preauth_api"):
        restore(database_url, file)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_file_cut_short_leaves_the_database_empty(file, empty_database_url, share):
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])

    with pytest.raises(BackupError, match="pg_restore"):
        restore(empty_database_url, file)

    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute(backups.FOUND, [list(backups.SCHEMAS)]).fetchall() == []


def test_a_file_that_cannot_be_loaded_leaves_the_database_empty(file, empty_database_url):
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"alter database {name} set default_transaction_read_only = on")

    with pytest.raises(BackupError, match=r"psql: .*read-only transaction"):
        restore(empty_database_url, file)


def test_a_backup_is_for_its_owner_only_and_overwrites_nothing(file, database_url):
    before = file.read_bytes()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(BackupError, match="exists: name a new file"):
        backup(database_url, file)
    assert file.read_bytes() == before


def test_a_backup_that_fails_leaves_no_file(empty_database_url, tmp_path):
    with pytest.raises(BackupError, match=r"pg_dump: .*no matching schemas"):
        backup(empty_database_url, tmp_path / "none.dump")
    with pytest.raises(BackupError, match=r"cannot write .*No such file or directory"):
        backup(empty_database_url, tmp_path / "nowhere" / "none.dump")
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(backups, "embedded_bin_dir", lambda: tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        BackupError, match="pg_dump is neither in the embedded PostgreSQL nor on PATH"
    ):
        program("pg_dump")

    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pg_dump").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert program("pg_dump") == str(tmp_path / "bin" / "pg_dump")


def test_the_password_is_not_on_the_command_line():
    named, environment = backups._connection(
        "postgresql://ann:se%40cret@db:5433/ledger?sslmode=require"
    )

    assert environment["PGPASSWORD"] == "se@cret"
    assert "se@cret" not in named
    assert {"user=ann", "host=db", "port=5433", "dbname=ledger", "sslmode=require"} == set(
        named.split()
    )


def test_pg_restore_alone_restores_it_where_the_owner_is_known(file, empty_database_url):
    """What docs/operations.md says to do by hand."""
    command = [program("pg_restore"), "--no-owner", "--no-privileges", "--exit-on-error"]
    script = subprocess.run([*command, "--file=-", file], capture_output=True, check=True).stdout
    text = script.replace(backups.UNKNOWN_BEFORE_17, b"")
    psql = [program("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1"]
    subprocess.run([*psql, empty_database_url], input=text, check=True, capture_output=True)
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("select preauth._lock_down()")
    assert databases.mismatches(empty_database_url) == []


def test_the_commands_say_what_they_did(monkeypatch, database_url, empty_database_url, tmp_path):
    file = tmp_path / "ledger.dump"
    monkeypatch.setenv("PREAUTH_DATABASE_URL", database_url)
    backed_up = CliRunner().invoke(main, ["backup", str(file)])
    assert (backed_up.exit_code, backed_up.stderr) == (0, f"{file}: {file.stat().st_size} bytes\n")

    monkeypatch.setenv("PREAUTH_DATABASE_URL", empty_database_url)
    restored = CliRunner().invoke(main, ["restore", str(file)])
    assert restored.exit_code == 0
    assert restored.stderr == (
        "the ledger is consistent\nit is at revision None: run preauth migrate\n"
    )
    again = CliRunner().invoke(main, ["restore", str(file)])
    assert again.exit_code == 1
    assert again.stderr.startswith("Error: the database has a schema preauth and")


@pytest.mark.schema("head")
def test_a_backup_of_a_newer_release_is_told_as_one(
    monkeypatch, database_url, empty_database_url, tmp_path
):
    with psycopg.connect(database_url) as connection:
        connection.execute("update preauth.alembic_version set version_num = '9999'")
    backups.backup(database_url, tmp_path / "ledger.dump")
    monkeypatch.setenv("PREAUTH_DATABASE_URL", empty_database_url)
    restored = CliRunner().invoke(main, ["restore", str(tmp_path / "ledger.dump")])
    assert restored.exit_code == 0
    assert "it is at revision 9999: it is of a newer release than this one" in restored.stderr
