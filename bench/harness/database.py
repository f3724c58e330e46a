"""A durable PostgreSQL 18 of our own, with the ledger in it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from service import migrate
from service.paths import SQL
from service.postgres import PostgresServer
from service.schema import load

__all__ = ["CACHE", "OPTIONS", "Database", "database", "work_dir"]

CACHE = SQL.parent / ".cache" / "bench"
"""Ignored by git, and on a disk: a file system in memory would make every flush free."""

VERIFY_SECONDS = 60
SEGMENT_BYTES = 16 * 2**20
WAL_BYTES = 2 * 2**30
"""``min_wal_size``: what is kept to be written again."""

QUARTER_OF_MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
"""What PostgreSQL's documentation advises for a server's buffers."""

OPTIONS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": f"{QUARTER_OF_MEMORY // 2**20}MB",
    "max_wal_size": "4GB",
    "min_wal_size": "2GB",
    "checkpoint_timeout": "15min",
}


@dataclass(frozen=True)
class Database:
    """One database of the server."""

    server: PostgresServer
    name: str = "preauth"

    @property
    def dsn(self) -> str:
        return self.server.dsn_for(self.name)

    @property
    def pid(self) -> int:
        """The postmaster's."""
        return self.server.pid or 0

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn, autocommit=True)

    def execute(self, statement: str, *values: object) -> list[Any]:
        with self.connect() as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def wal_position(self) -> int:
        """Bytes of write-ahead log since the cluster was made."""
        return int(self.execute("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0][0])

    def mismatches(self) -> str:
        """What ``verify()`` says after all that load."""
        with self.connect() as connection:
            connection.execute(f"set statement_timeout = {VERIFY_SECONDS * 1000}")
            try:
                found = connection.execute("select count(*) from preauth_api.verify()").fetchone()
            except psycopg.errors.QueryCanceled:
                return f"verify() did not finish in {VERIFY_SECONDS} s"
        return f"verify() afterwards: {found[0] if found else '?'} mismatches"

    def another(self, name: str) -> "Database":
        """Make a further database, with the ledger in it."""
        self.execute(f'create database "{name}"')
        made = Database(self.server, name)
        install(made)
        return made


@contextmanager
def work_dir() -> Iterator[Path]:
    """A directory that goes away."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as path:
        yield Path(path)


@contextmanager
def database() -> Iterator[Database]:
    """The ledger as ``sql/`` has it, on a server that stops at the end."""
    with work_dir() as path, PostgresServer(path, options=OPTIONS) as server:
        made = Database(server)
        install(made)
        run_in(made)
        yield made


def run_in(made: Database) -> None:
    """Write log until its segments are used again, as those of a server are that has run for long.

    Making a new one stops every commit for some 40 ms, at first once a second under full load.
    """
    with made.connect() as connection:
        for _ in range(WAL_BYTES // SEGMENT_BYTES):
            connection.execute(
                "select pg_logical_emit_message(false, 'bench', repeat('x', %s))", [SEGMENT_BYTES]
            )
        connection.execute("checkpoint")


def install(made: Database) -> None:
    """From ``sql/``, called what it is proved equal to: the newest revision."""
    with psycopg.connect(made.dsn) as connection:
        load(connection)
        connection.execute("insert into preauth.alembic_version values (%s)", [migrate.head()])
