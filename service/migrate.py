"""Bring a database to head, and tell where it is. Alembic does the walking, psycopg the talking."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import psycopg
import sqlalchemy
from alembic import command, op
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from service.paths import MIGRATIONS

__all__ = [
    "VERSION_TABLE",
    "at_head",
    "current",
    "head",
    "remedy",
    "revision",
    "run_file",
    "upgrade",
]

VERSION_SCHEMA = "preauth"
VERSION_TABLE = "preauth.alembic_version"
"""Alembic's own table: one row, ``version_num``."""

LOCK = 5_417_301_884_027_713
"""Advisory lock held while migrating, so that processes that start together take turns."""


def config() -> Config:
    """Alembic's configuration: there is no ini file."""
    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    made.set_main_option("path_separator", "os")
    return made


def head() -> str | None:
    """The newest revision of this release; None before the first."""
    return ScriptDirectory.from_config(config()).get_current_head()


def current(dsn: str) -> str | None:
    """The revision the database is at; None when it was never migrated."""
    with _connect(dsn) as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table_schema": VERSION_SCHEMA}
        )
        return context.get_current_revision()


def revision(dsn: str) -> str | None:
    """The same, asked as a service may ask that owns nothing; None too when that is not there."""
    with psycopg.connect(dsn) as connection:
        try:
            row = connection.execute("select preauth_api.revision()").fetchone()
        except (psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedFunction):
            return None
    return str(row[0]) if row and row[0] is not None else None


def at_head(dsn: str) -> bool:
    """Whether the database is at this release's newest revision."""
    return current(dsn) == head()


def remedy(revision: str | None) -> str:
    """What to do about a database that is at another revision than this release's newest."""
    known = {script.revision for script in ScriptDirectory.from_config(config()).walk_revisions()}
    if revision is None or revision in known:
        return "run preauth migrate"
    return f"it is of a newer release than this one, which ends at {head()}: use that release"


def upgrade(dsn: str, revision: str = "head") -> None:
    """Run what is missing up to ``revision``, each revision in a transaction of its own."""
    with _connect(dsn) as connection, _alone(connection):
        connection.exec_driver_sql(f"create schema if not exists {VERSION_SCHEMA}")
        connection.commit()
        settings = config()
        settings.attributes["connection"] = connection
        command.upgrade(settings, revision)


def run_file(name: str) -> None:
    """From a revision: run ``migrations/sql/<name>`` as it stands, any number of statements."""
    text = (MIGRATIONS / "sql" / name).read_bytes()
    driver = op.get_bind().connection.dbapi_connection
    cursor = cast("psycopg.Connection[tuple[object, ...]]", driver).cursor()
    cursor.execute("set local check_function_bodies = off")
    cursor.execute("set local client_min_messages = warning")
    cursor.execute(text)


@contextmanager
def _connect(dsn: str) -> Iterator[sqlalchemy.Connection]:
    driver = psycopg.connect(dsn)  # here, so that its errors come out as they are
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: driver, poolclass=sqlalchemy.NullPool
    )
    with engine.connect() as connection:
        yield connection


@contextmanager
def _alone(connection: sqlalchemy.Connection) -> Iterator[None]:
    connection.exec_driver_sql(f"select pg_advisory_lock({LOCK})")
    connection.commit()
    try:
        yield
    finally:
        connection.rollback()
        connection.exec_driver_sql(f"select pg_advisory_unlock({LOCK})")
        connection.commit()
