"""``sql/`` in its load order: the sorted path of every file, the generated bundle left out."""

from pathlib import Path

import psycopg

from service.paths import SQL

__all__ = ["body_text", "bundle_text", "load", "source_files"]

BUNDLE = "bundle.sql"
HEADER = """\
-- Preauth, the ledger, in one file. Generated from sql/ by `make bundle`: edit there.
-- Run it once, as the owner of the database, on an empty PostgreSQL 15 or later.
"""


def source_files(directory: Path = SQL) -> list[Path]:
    """Every source file, in load order."""
    found = (path for path in directory.rglob("*.sql") if path != directory / BUNDLE)
    return sorted(found, key=lambda path: path.relative_to(directory).as_posix())


def body_text(directory: Path = SQL) -> str:
    """The sources one after the other, each under a line that names it."""
    return "\n".join(_titled(path, directory) for path in source_files(directory))


def bundle_text(directory: Path = SQL) -> str:
    """One transaction that builds the ledger: the same text for the same sources, always."""
    settings = "set local check_function_bodies = off;\nset local client_min_messages = warning;\n"
    return f"{HEADER}\nbegin;\n{settings}\n{body_text(directory)}\ncommit;\n"


def load(connection: psycopg.Connection[tuple[object, ...]], directory: Path = SQL) -> None:
    """Build the ledger from ``sql/`` in one transaction."""
    with connection.transaction():
        connection.execute("set local check_function_bodies = off")
        connection.execute("set local client_min_messages = warning")
        for path in source_files(directory):
            _run(connection, path)


def _titled(path: Path, directory: Path) -> str:
    title = f"-- {path.relative_to(directory).as_posix()}"
    return f"{title}\n{path.read_text('utf-8').strip()}\n"


def _run(connection: psycopg.Connection[tuple[object, ...]], path: Path) -> None:
    try:
        connection.execute(path.read_bytes())
    except psycopg.Error as error:
        error.add_note(f"in {path}")
        raise
