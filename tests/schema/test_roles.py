"""Clusters as they come: with Supabase's roles or without, installed by someone who is no superuser."""

import os

import psycopg
import pytest
from psycopg import sql

from service.freeze import FAST
from service.migrate import upgrade
from service.paths import SQL
from service.postgres import PostgresServer
from tests.support import schemas
from tests.support.supabase import ROLES, make_roles

INSTALLER = "installer"
BUNDLE = (SQL / "bundle.sql").read_bytes()
MAY = "select has_function_privilege(%s, 'preauth_api.verify()', 'execute')"


@pytest.fixture
def server(tmp_path_factory):
    """A cluster of its own: roles belong to all databases of a cluster."""
    binaries = os.environ.get("PREAUTH_TEST_PG_BIN") or None
    with PostgresServer(tmp_path_factory.mktemp("pg"), binaries, options=FAST) as running:
        yield running


def installer(server, *rights):
    """A URL of an empty database that belongs to a role which is no superuser."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"create role {INSTALLER} login nosuperuser {' '.join(rights)}")
        connection.execute(f"create database mine owner {INSTALLER}")
    return server.dsn_for("mine").replace("postgres@", f"{INSTALLER}@")


def call(url, role, statement, *arguments):
    with psycopg.connect(url) as connection:
        connection.execute(sql.SQL("set role {}").format(sql.Identifier(role)))
        return connection.execute(statement, arguments).fetchone()[0]


def test_a_plain_cluster_gets_the_three_roles_and_needs_no_others(server):
    schemas.from_bundle(server.dsn)

    with psycopg.connect(server.dsn) as connection:
        names = {row[0] for row in connection.execute("select rolname from pg_roles")}
    assert {"preauth_owner", "preauth_service", "preauth_audit"} <= names
    assert not names & set(ROLES)
    assert call(server.dsn, "preauth_service", "select count(*) from preauth_api.verify()") == 0
    assert call(server.dsn, "preauth_audit", "select count(*) from preauth_api.verify()") == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        call(server.dsn, "preauth_audit", "select preauth_api.expire_due()")


def test_supabases_roles_that_come_later_are_granted_by_locking_down_again(server):
    schemas.from_bundle(server.dsn)
    make_roles(server.dsn)

    with psycopg.connect(server.dsn) as connection:
        connection.execute("select preauth._lock_down()")
        assert connection.execute(MAY, ["service_role"]).fetchone() == (True,)
        assert connection.execute(MAY, ["authenticated"]).fetchone() == (False,)


@pytest.mark.parametrize("supabase", [False, True])
@pytest.mark.parametrize(
    "install",
    [schemas.from_bundle, schemas.upgraded, upgrade],
    ids=["bundle", "upgrade", "migrate"],
)
def test_it_installs_and_works_without_a_superuser(server, install, supabase):
    if supabase:
        make_roles(server.dsn)
    url = installer(server, "createrole")

    install(url)

    with psycopg.connect(url) as connection:
        assert connection.execute(
            "select distinct pg_get_userbyid(relowner) from pg_class where relnamespace = 'preauth'::regnamespace"
        ).fetchall() == [("preauth_owner",)]
    reserved = "select preauth_api.reserve(request_id => 'r', account_id => 'a', amounts => '{\"tokens\": 1}') ->> 'reason'"
    role = "service_role" if supabase else "preauth_service"
    assert call(server.dsn_for("mine"), role, reserved) == "account_unknown"


def test_a_second_database_of_the_cluster_finds_the_roles_there(server):
    url = installer(server, "createrole")
    schemas.from_bundle(url)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"create database second owner {INSTALLER}")
    schemas.from_bundle(url.replace("/mine?", "/second?"))


def test_it_installs_without_createrole_where_the_roles_are_there(server):
    schemas.from_bundle(server.dsn)
    url = installer(server)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"grant preauth_owner to {INSTALLER}")

    schemas.from_bundle(url)


def test_who_may_not_have_the_owner_is_told_so_and_nothing_is_left(server):
    schemas.from_bundle(server.dsn)
    url = installer(server)

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        schemas.from_bundle(url)

    with psycopg.connect(url) as connection:
        assert connection.execute("select to_regnamespace('preauth')").fetchone() == (None,)


def test_an_owner_that_can_log_in_is_refused(server):
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create role preauth_owner login")

    with pytest.raises(psycopg.errors.RaiseException, match="must not"):
        schemas.from_sql(server.dsn)


def test_migrations_go_on_after_the_ledger_has_changed_hands(server):
    url = installer(server, "createrole")
    upgrade(url)
    upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter table preauth.plan add column note text")
        connection.execute(
            "create or replace function preauth._now() returns timestamptz language sql as 'select pg_catalog.clock_timestamp()'"
        )
        connection.execute("select preauth._lock_down()")
