"""One schema, three ways to it."""

import psycopg
import pytest

from service.freeze import checksums
from service.migrate import at_head, upgrade
from service.paths import MIGRATIONS, SQL
from service.schema import bundle_text, catalog_of, differences, upgrade_text
from tests.support import databases

VERSION_TABLE = "preauth.alembic_version"


def catalog(cluster, schema):
    """The catalog of a template, but for alembic's own table."""
    with (
        databases.temporary(cluster, databases.template(cluster, schema)) as url,
        psycopg.connect(url) as connection,
    ):
        things = catalog_of(connection)
    return {thing: text for thing, text in things.items() if VERSION_TABLE not in str(thing)}


@pytest.mark.parametrize("schema", ["head", "bundle", "upgraded"])
def test_the_catalog_equals_the_one_built_from_sql(cluster, schema):
    assert differences(catalog(cluster, schema), catalog(cluster, "sql")) == []


def test_the_catalog_is_not_empty(cluster):
    kinds = {thing.kind for thing in catalog(cluster, "sql")}
    assert {"table", "column", "function", "constraint", "index"} <= kinds


def test_the_comparison_sees_a_changed_function_a_lost_check_and_a_grant(cluster):
    before = catalog(cluster, "sql")
    with (
        databases.temporary(cluster, databases.template(cluster, "sql")) as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        for tampering in (
            "create or replace function preauth._now() returns timestamptz language sql as 'select null::timestamptz'",
            "alter table preauth.budget_window drop constraint budget_window_sound",
            "grant select on preauth.account to public",
            "alter table preauth.account disable row level security",
        ):
            connection.execute(tampering)
            after = catalog_of(connection)
            assert differences(before, after) != []
            before = after


def test_the_bundle_in_the_repository_is_the_one_sql_makes():
    assert (SQL / "bundle.sql").read_text() == bundle_text()


def test_the_upgrade_in_the_repository_is_the_one_the_migrations_make():
    assert (SQL / "upgrade.sql").read_text() == upgrade_text()


def test_frozen_migrations_are_as_they_were_frozen():
    assert (MIGRATIONS / "checksums.txt").read_text() == checksums()


def test_at_least_one_revision_is_frozen():
    assert list((MIGRATIONS / "sql").glob("*.sql"))


def test_migrating_twice_changes_nothing(cluster):
    with databases.temporary(cluster) as url:
        upgrade(url)
        upgrade(url)
        assert at_head(url)
