"""What Supabase's own command line says of a database with the ledger in it. It needs no Docker."""

import json
import os
import subprocess

import psycopg
import pytest

from service.freeze import FAST
from service.postgres import PostgresServer
from service.postgres.home import free_port
from tests.support import node, schemas
from tests.support.supabase import make_roles

CONFIG = """\
project_id = "preauth"
[api]
schemas = ["preauth_api"]
[db]
port = {port}
major_version = 15
"""
SUPABASE = node.MODULES / "@supabase" / "cli-linux-x64" / "bin" / "supabase"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A local Supabase project: its database is where and as the command line expects it."""
    node.install()
    folder = tmp_path_factory.mktemp("project")
    (folder / "supabase").mkdir()
    port = free_port()
    (folder / "supabase" / "config.toml").write_text(CONFIG.format(port=port))
    binaries = os.environ.get("PREAUTH_TEST_PG_BIN") or None
    with PostgresServer(
        folder / "pg", binaries, database="postgres", port=port, options=FAST
    ) as server:
        make_roles(server.dsn)
        schemas.from_bundle(server.dsn)
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("alter role postgres password 'postgres'")
        yield folder, server


def supabase(folder, *arguments):
    """The findings of a command."""
    environment = {
        **os.environ,
        "HOME": str(folder),
        "PATH": f"{node.NODE.parent}{os.pathsep}{os.environ['PATH']}",
        "SUPABASE_TELEMETRY_DISABLED": "1",
        "DO_NOT_TRACK": "1",
    }
    done = subprocess.run(
        [str(SUPABASE), *arguments, "--workdir", str(folder)],
        capture_output=True, text=True, timeout=300, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    start = min((i for i in map(done.stdout.find, "[{") if i >= 0), default=None)
    return [] if start is None else json.loads(done.stdout[start:])


def test_db_lint_finds_nothing(project):
    """Where plpgsql_check can be installed; PREAUTH_TEST_PLPGSQL_CHECK=1 says that it must be."""
    folder, server = project
    with psycopg.connect(server.dsn) as connection:
        available = connection.execute(
            "select 1 from pg_available_extensions where name = 'plpgsql_check'"
        ).fetchone()
    if available is None:
        assert os.environ.get("PREAUTH_TEST_PLPGSQL_CHECK") != "1", "plpgsql_check is missing"
        return
    assert (
        supabase(folder, "db", "lint", "--schema", "preauth,preauth_api", "--level", "warning")
        == []
    )


def test_db_advisors_find_nothing(project):
    """But what was not used yet in a database that is a second old, which is no finding."""
    folder, _ = project
    found = supabase(folder, "db", "advisors", "--type", "all", "--level", "info")
    assert [finding for finding in found if finding["name"] != "unused_index"] == []


def test_db_advisors_would_find_a_function_that_does_not_pin_its_search_path(project):
    folder, server = project
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(
            "create function preauth._loose() returns integer language sql as 'select 1'"
        )
        found = supabase(folder, "db", "advisors", "--type", "security", "--level", "info")
        connection.execute("drop function preauth._loose()")
    assert {(finding["name"], finding["metadata"]["name"]) for finding in found} == {
        ("function_search_path_mutable", "_loose")
    }
