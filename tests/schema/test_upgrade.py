"""From each earlier bundle to this release: the same catalog, and nothing lost on the way."""

import psycopg
import pytest

from service import migrate
from service.paths import MIGRATIONS
from service.schema import catalog_of, differences
from tests.support import databases, schemas

REVISIONS = sorted(path.name[:4] for path in (MIGRATIONS / "sql").glob("*.sql"))
LIFE = """
select preauth_api.put_account('ann', '{}');
select preauth_api.put_budget('ann', 'cap', '{"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1000}');
select preauth_api.reserve(request_id => 'open', account_id => 'ann', amounts => '{"tokens": 400}');
select preauth_api.reserve(request_id => 'spent', account_id => 'ann', amounts => '{"tokens": 300}');
select preauth_api.settle(request_id => 'spent', amounts => '{"tokens": 100}');
select preauth_api.reserve(request_id => 'denied', account_id => 'ann', amounts => '{"tokens": 501}');
"""


@pytest.fixture
def wanted(cluster):
    """The catalog of this release."""
    source = databases.template(cluster, "bundle")
    with databases.temporary(cluster, source) as url, psycopg.connect(url) as connection:
        return catalog_of(connection)


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_earlier_bundle_is_upgraded_with_its_data(empty_database_url, wanted, revision):
    schemas.earlier_bundle(empty_database_url, revision)
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(LIFE)

    schemas.with_upgrade(empty_database_url)

    with psycopg.connect(empty_database_url, autocommit=True) as connection:

        def one(statement):
            return connection.execute(statement).fetchone()[0]

        assert differences(catalog_of(connection), wanted) == []
        assert one("select preauth_api.revision()") == REVISIONS[-1]
        assert one("select preauth_api.balance('ann') #> '{windows,0,available}'") == 500
        again = (
            "select preauth_api.reserve(request_id => '{}', account_id => 'ann', amounts => '{}')"
        )
        assert one(again.format("denied", '{"tokens": 501}'))["replayed"] is True
        assert one(again.format("open", '{"tokens": 400}'))["replayed"] is True
        assert one("select preauth_api.settle(request_id => 'open', amounts => '{\"tokens\": 1}')")["state"] == "settled"  # fmt: skip
        assert one(again.format("new", '{"tokens": 899}'))["decision"] == "authorized"
        held = one("select preauth_api.audit_why_denied('denied') -> 'items' #> '{0,amount}'")
        assert held == 400
    assert databases.mismatches(empty_database_url) == []


def test_what_others_built_on_a_view_of_the_last_release_stays(empty_database_url):
    """A view of theirs, and a grant: docs/sql.md says that grants to other roles stay."""
    schemas.earlier_bundle(empty_database_url, "0011")
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("create view public.held as select amount from preauth_api.holds")
        connection.execute("grant select on preauth_api.holds to pg_monitor")

    schemas.with_upgrade(empty_database_url)

    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("select * from public.held").fetchall() == []
        granted = "select has_table_privilege('pg_monitor', 'preauth_api.holds', 'select')"
        assert connection.execute(granted).fetchone() == (True,)


def test_upgrading_again_changes_nothing(empty_database_url):
    schemas.upgraded(empty_database_url)
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(LIFE)
        before = catalog_of(connection)
    schemas.with_upgrade(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        assert differences(before, catalog_of(connection)) == []
        assert connection.execute("select count(*) from preauth.reservation").fetchone() == (3,)


def test_there_is_nothing_to_upgrade_in_an_empty_database(empty_database_url):
    with pytest.raises(psycopg.errors.RaiseException, match=r"bundle\.sql"):
        schemas.with_upgrade(empty_database_url)


def test_a_database_that_the_bundle_made_can_be_migrated_from_then_on(empty_database_url):

    schemas.from_bundle(empty_database_url)
    assert migrate.at_head(empty_database_url)
    migrate.upgrade(empty_database_url)
    assert migrate.revision(empty_database_url) == REVISIONS[-1]
