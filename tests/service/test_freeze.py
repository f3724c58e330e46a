"""Freezing: what is in sql/ and what the revisions build are the same, or the revision is refused."""

import uuid
from contextlib import contextmanager

import psycopg
import pytest

from service import freeze as freezer
from service import migrate
from service.postgres import PostgresServer
from service.schema import catalog_of, differences, load
from service.schema.catalog import Thing

FIRST = """
create schema preauth;
create schema preauth_api;
revoke all on schema preauth from public;
create domain preauth.amount as bigint check (value >= 0);
create table preauth.account (
  account_id text collate "C" not null, "Odd name" integer default 7, spent preauth.amount,
  constraint account_pkey primary key (account_id));
alter table preauth.account enable row level security;
comment on table preauth.account is 'who spends: 100% of them';
create index account_spent on preauth.account (spent) where spent > 0;
"""
FUNCTIONS = """
create function preauth._double(n bigint) returns bigint language sql as $$ select n * 2 $$;
create function preauth_api.twice(n bigint) returns jsonb language plpgsql as $f$
begin
  return jsonb_build_object('n', preauth._double(n), 'colon', ':1', 'percent', '100%');
end $f$;
revoke all on function preauth._double(bigint), preauth_api.twice(bigint) from public;
comment on function preauth_api.twice(bigint) is 'It''s twice';
"""
VIEWS = """
create view preauth_api.accounts with (security_barrier) as select account_id, spent from preauth.account;
create view preauth_api.spenders as select * from preauth_api.accounts where spent > 0;
grant select on preauth_api.accounts to public;
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One scratch server for the module."""
    with PostgresServer(tmp_path_factory.mktemp("pg"), options=freezer.FAST) as running:
        yield running


@pytest.fixture
def house(tmp_path, monkeypatch, server):
    """A sql/ and a migrations/ of their own."""

    @contextmanager
    def scratch():
        names = [f"{kind}_{uuid.uuid4().hex}" for kind in ("migrated", "wanted")]
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for name in names:
                connection.execute(f"create database {name} template template0 strategy file_copy")
        yield freezer.Scratch(*map(server.dsn_for, names))

    monkeypatch.setattr(freezer, "scratch", scratch)
    sql, migrations = tmp_path / "sql", tmp_path / "migrations"
    sql.mkdir()
    migrations.mkdir()
    (migrations / "env.py").write_bytes((migrate.MIGRATIONS / "env.py").read_bytes())
    monkeypatch.setattr(freezer, "SQL", sql)
    monkeypatch.setattr(freezer, "MIGRATIONS", migrations)
    monkeypatch.setattr(migrate, "MIGRATIONS", migrations)
    (sql / "1.sql").write_text(FIRST)
    (sql / "2.sql").write_text(FUNCTIONS)
    (sql / "3.sql").write_text(VIEWS)
    return sql


def assert_head_equals_sources(sql):
    with freezer.scratch() as databases:
        migrate.upgrade(databases.migrated)
        assert migrate.at_head(databases.migrated)
        with psycopg.connect(databases.migrated) as one, psycopg.connect(databases.wanted) as two:
            load(two, sql)
            assert differences(catalog_of(one), catalog_of(two)) == []
            return catalog_of(one)


def test_the_first_revision_is_the_sources_and_builds_the_same(house):
    name = freezer.freeze("the ledger", None)

    assert name == "0001_the_ledger"
    found = assert_head_equals_sources(house)
    assert found[Thing("comment", "table preauth.account")].endswith("'who spends: 100% of them'")
    assert freezer.freeze("nothing", None) is None


def test_changed_functions_tables_views_and_grants_are_frozen_as_a_second_revision(house):
    freezer.freeze("the ledger", None)
    (house / "1.sql").write_text(
        FIRST.replace('"Odd name" integer default 7', '"Odd name" integer default 8 not null')
        .replace("spent preauth.amount,", "spent preauth.amount, note text,")
        .replace("where spent > 0;", "where spent > 1;")
        + "create type preauth.mood as enum ('good', 'it''s bad');"
        "create table preauth.event (event_id bigint generated always as identity primary key,"
        " account_id text not null references preauth.account, b integer not null default 1,"
        " a integer, constraint b_positive check (b > 0));"
        "alter table preauth.event enable row level security;"
    )
    (house / "2.sql").write_text(
        FUNCTIONS.replace("returns bigint", "returns numeric").replace("'100%'", "'99%'")
        + "create function preauth.event_count() returns setof preauth.event language sql as"
        " $$ select * from preauth.event $$;"
        "revoke all on function preauth.event_count() from public;"
    )
    (house / "3.sql").write_text(
        VIEWS.replace("account_id, spent", "account_id, spent, note").replace(
            "grant select on preauth_api.accounts", "grant select on preauth_api.spenders"
        )
    )

    assert freezer.freeze("more", None) == "0002_more"
    assert_head_equals_sources(house)


def test_what_is_gone_from_the_sources_is_dropped(house):
    freezer.freeze("the ledger", None)
    (house / "3.sql").unlink()
    (house / "2.sql").write_text("")
    (house / "1.sql").write_text(
        FIRST.replace(", spent preauth.amount", "").partition("create index")[0]
    )

    freezer.freeze("less", None)

    assert_head_equals_sources(house)


def test_a_change_that_needs_thought_is_refused_and_leaves_no_file(house):
    freezer.freeze("the ledger", None)
    before = freezer.checksums(freezer.MIGRATIONS)
    (house / "1.sql").write_text(FIRST.replace('"Odd name" integer', '"Odd name" text'))

    with pytest.raises(freezer.FreezeError, match="Odd name"):
        freezer.freeze("retype", None)

    assert freezer.checksums(freezer.MIGRATIONS) == before


def test_a_hand_written_change_comes_first(house, tmp_path):
    freezer.freeze("the ledger", None)
    (house / "1.sql").write_text(FIRST.replace('"Odd name" integer', '"Even name" integer'))
    by_hand = tmp_path / "rename.sql"
    by_hand.write_text('alter table preauth.account rename "Odd name" to "Even name";')

    freezer.freeze("rename", by_hand)

    assert_head_equals_sources(house)


def test_the_newest_revision_can_be_redone_until_it_is_merged(house):
    freezer.freeze("the ledger", None)
    (house / "2.sql").write_text(FUNCTIONS.replace("n * 2", "n + n"))

    assert freezer.redo() == "0001_the_ledger"
    assert_head_equals_sources(house)


def test_a_redo_that_fails_leaves_the_revision_as_it_was(house):
    freezer.freeze("the ledger", None)
    before = freezer.checksums(freezer.MIGRATIONS)
    (house / "2.sql").write_text("create nonsense;")

    with pytest.raises(psycopg.errors.SyntaxError):
        freezer.redo()

    assert freezer.checksums(freezer.MIGRATIONS) == before


def test_merged_revisions_are_as_they_were():
    recorded = (migrate.MIGRATIONS / "checksums.txt").read_text()

    assert freezer.checksums(migrate.MIGRATIONS) == recorded
