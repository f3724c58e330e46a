"""The ways to get the ledger into an empty database."""

import os
from pathlib import Path

import psycopg

from service.migrate import upgrade
from service.paths import MIGRATIONS, SQL
from service.schema import load

__all__ = [
    "earlier_bundle",
    "from_bundle",
    "from_migrations",
    "from_sql",
    "upgraded",
    "with_upgrade",
]

SOURCES = Path(os.environ.get("PREAUTH_TEST_SQL", SQL))
"""The folder that the tests' ledgers are built from; tests/mutants names others."""
ALEMBIC_TABLE = """
create table if not exists preauth.alembic_version (
  version_num varchar(32) not null, constraint alembic_version_pkc primary key (version_num))
"""


def from_sql(url: str) -> None:
    """Build it from the files of ``sql/``."""
    with psycopg.connect(url) as connection:
        load(connection, SOURCES)


def from_bundle(url: str) -> None:
    """Build it as a Supabase user does: from ``sql/bundle.sql`` alone."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((SQL / "bundle.sql").read_bytes())


def from_migrations(url: str) -> None:
    """Build it as ``preauth migrate`` does."""
    upgrade(url)


def upgraded(url: str) -> None:
    """Build it from the first bundle there was, and ``sql/upgrade.sql``."""
    earlier_bundle(url, "0001")
    with_upgrade(url)


def with_upgrade(url: str) -> None:
    """Bring what an earlier bundle made to this release."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((SQL / "upgrade.sql").read_bytes())


def earlier_bundle(url: str, revision: str) -> None:
    """Build what the bundle of a revision built: its frozen texts, without alembic.

    The first one did not record its revision.
    """
    texts = sorted((MIGRATIONS / "sql").glob("*.sql"))
    with psycopg.connect(url) as connection:
        connection.execute("set local check_function_bodies = off")
        for text in texts:
            if text.name[:4] <= revision:
                if text.name[:4] > "0001":
                    connection.execute(ALEMBIC_TABLE)
                connection.execute(text.read_bytes())
        if revision > "0001":
            connection.execute("insert into preauth.alembic_version values (%s)", [revision])
