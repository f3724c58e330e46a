"""``make migration``: freeze the difference between alembic's head and ``sql/`` as a revision."""

import hashlib
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import psycopg

from service import migrate
from service.paths import MIGRATIONS, SQL
from service.postgres import PostgresServer
from service.schema import bundle
from service.schema.catalog import Catalog, Difference, Thing, catalog_of, differences
from service.schema.ddl import statements
from service.schema.sources import body_text, load

__all__ = ["checksums", "freeze", "main", "write_checksums"]

CHECKSUMS = "checksums.txt"
VERSION_FILE = '''\
"""{message}."""

from service.migrate import run_file

revision = "{revision}"
down_revision = {down}


def upgrade() -> None:
    run_file("{name}.sql")
'''
LOCK_DOWN = Thing("function", "preauth._lock_down()")
"""Where it is there, each revision ends with it: owners and grants are its business."""
FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
"""For scratch servers only: their data does not outlive the command."""


class FreezeError(click.ClickException):
    """The revision was not kept; the message says what is missing."""


@dataclass(frozen=True)
class Scratch:
    """Two empty databases on a PostgreSQL that is thrown away."""

    migrated: str
    wanted: str


@contextmanager
def scratch() -> Iterator[Scratch]:
    """A scratch server with both databases."""
    with (
        tempfile.TemporaryDirectory(prefix="preauth-freeze-") as directory,
        PostgresServer(directory, database="migrated", options=FAST) as server,
    ):
        with psycopg.connect(server.dsn_for("postgres"), autocommit=True) as connection:
            connection.execute("create database wanted")
        yield Scratch(server.dsn_for("migrated"), server.dsn_for("wanted"))


def freeze(message: str, ddl: Path | None = None) -> str | None:
    """Freeze the difference as the next revision; its name, or None when there is none.

    Args:
        message: what the revision does, in a few words.
        ddl: hand-written statements to run before comparing.
    """
    with scratch() as databases:
        wanted = _wanted(databases.wanted)
        down = migrate.head()
        by_hand = ddl.read_text("utf-8").strip() if ddl else ""
        migrate.upgrade(databases.migrated)
        if down is None:
            text = _first_text()
        else:
            before = _after(databases.migrated, by_hand)
            text = _text(by_hand, _statements(before, wanted))
        if not text:
            return None
        return _keep(message, down, text, databases.migrated, wanted)


def _wanted(dsn: str) -> Catalog:
    with psycopg.connect(dsn) as connection:
        load(connection, SQL)
        return catalog_of(connection)


def _after(dsn: str, by_hand: str) -> Catalog:
    """The catalog after the hand-written statements, which are then undone."""
    with psycopg.connect(dsn) as connection:
        if by_hand:
            connection.execute(by_hand.encode())
        found = catalog_of(connection)
        connection.rollback()
        return found


def _statements(before: Catalog, wanted: Catalog) -> list[str]:
    if LOCK_DOWN not in wanted:
        return statements(before, wanted)
    found = statements(_without_grants(before), _without_grants(wanted))
    return [*found, "select preauth._lock_down();"] if found else []


def _without_grants(catalog: Catalog) -> Catalog:
    return {thing: text for thing, text in catalog.items() if thing.kind != "grant"}


def _first_text() -> str:
    """The first revision is ``sql/`` as it stands. Alembic's own schema is there before it."""
    return re.sub(r"(?im)^create schema (?!if )", "create schema if not exists ", body_text(SQL))


def _text(by_hand: str, generated: list[str]) -> str:
    return "\n\n".join(part for part in (by_hand, *generated) if part)


def _keep(message: str, down: str | None, text: str, dsn: str, wanted: Catalog) -> str:
    """Write the revision, run it, and take it back unless the catalogs are then equal."""
    written = _write(message, down, text)
    try:
        migrate.upgrade(dsn)
        _check(dsn, wanted)
    except BaseException:
        for path in written:
            path.unlink()
        raise
    write_checksums()
    bundle.write(SQL, MIGRATIONS)
    return written[0].stem


def _check(dsn: str, wanted: Catalog) -> None:
    with psycopg.connect(dsn) as connection:
        left = differences(catalog_of(connection), wanted)
    if left:
        raise FreezeError(_explain(left))


def _write(message: str, down: str | None, text: str) -> tuple[Path, Path]:
    revision = f"{int(down or 0) + 1:04d}"
    words = re.sub(r"[^a-z0-9]+", "_", message.lower()).strip("_")[:50]
    name = f"{revision}_{words}"
    body = MIGRATIONS / "sql" / f"{name}.sql"
    version = MIGRATIONS / "versions" / f"{name}.py"
    body.parent.mkdir(exist_ok=True)
    version.parent.mkdir(exist_ok=True)
    body.write_text(f"-- {message}\n\n{text.strip()}\n", "utf-8")
    quoted = f'"{down}"' if down else None
    title = message[:1].upper() + message[1:].rstrip(".")
    text = VERSION_FILE.format(message=title, revision=revision, down=quoted, name=name)
    version.write_text(text, "utf-8")
    return body, version


def _explain(left: list[Difference]) -> str:
    lines = [f"  {d.thing.kind} {d.thing.name}: {d.before!r} -> {d.after!r}" for d in left]
    return "\n".join(
        [
            "the generated statements do not lead to sql/; write the rest by hand",
            'and pass it: make migration m="..." ddl=FILE. Still different:',
            *lines,
        ]
    )


def checksums(directory: Path = MIGRATIONS) -> str:
    """One line a frozen file: SHA-256 and path, as ``sha256sum`` writes it."""
    files = sorted([*directory.glob("sql/*.sql"), *directory.glob("versions/*.py")])
    return "".join(f"{_digest(f)}  {f.relative_to(directory).as_posix()}\n" for f in files)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_checksums() -> None:
    """Write ``migrations/checksums.txt``."""
    (MIGRATIONS / CHECKSUMS).write_text(checksums(), "utf-8")


def redo(message: str = "", ddl: Path | None = None) -> str | None:
    """Freeze the newest revision again, which must not have been merged.

    It stays as it was if that fails. Its message stays too, unless there is a new one.
    """
    newest = migrate.head()
    if newest is None:
        raise FreezeError("there is no revision to redo")
    [body] = (MIGRATIONS / "sql").glob(f"{newest}_*.sql")
    old = {path: path.read_bytes() for path in (body, _version_of(body))}
    for path in old:
        path.unlink()
    try:
        return freeze(message or _message_of(old[body]), ddl)
    except BaseException:
        for path, content in old.items():
            path.write_bytes(content)
        raise


def _version_of(body: Path) -> Path:
    return MIGRATIONS / "versions" / f"{body.stem}.py"


def _message_of(body: bytes) -> str:
    return body.decode().partition("\n")[0].removeprefix("-- ")


@click.command()
@click.argument("message", required=False, default="")
@click.option("--ddl", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--redo", "again", is_flag=True, help="Replace the newest revision, not merged yet.")
def main(message: str, ddl: Path | None, again: bool) -> None:
    """Freeze what changed in sql/ since the newest revision."""
    message = message.strip()
    if not (message or again):
        raise FreezeError('say what it does: make migration m="..."')
    name = redo(message, ddl) if again else freeze(message, ddl)
    click.echo(f"migrations/sql/{name}.sql" if name else "nothing has changed")


if __name__ == "__main__":
    main()
