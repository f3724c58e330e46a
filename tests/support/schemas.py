"""The three ways to get the ledger into an empty database."""

import psycopg

from service.migrate import upgrade
from service.paths import SQL
from service.schema import load

__all__ = ["from_bundle", "from_migrations", "from_sql"]


def from_sql(url: str) -> None:
    """Build it from the files of ``sql/``."""
    with psycopg.connect(url) as connection:
        load(connection)


def from_bundle(url: str) -> None:
    """Build it as a Supabase user does: from ``sql/bundle.sql`` alone."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((SQL / "bundle.sql").read_bytes())


def from_migrations(url: str) -> None:
    """Build it as ``preauth migrate`` does."""
    upgrade(url)
