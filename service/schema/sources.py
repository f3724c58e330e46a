"""``sql/`` in its load order: the sorted path of every file, the generated ones left out."""

from itertools import pairwise
from pathlib import Path

import psycopg

from service.paths import MIGRATIONS, SQL

__all__ = ["BUNDLE", "UPGRADE", "body_text", "bundle_text", "load", "source_files", "upgrade_text"]

BUNDLE = "bundle.sql"
UPGRADE = "upgrade.sql"
HEADER = """\
-- Preauth, the ledger, in one file. Generated from sql/ by `make bundle`: edit there.
-- Run it once on a PostgreSQL 15 or later, as a role that may create roles and schemas.
"""
UPGRADE_HEADER = """\
-- Brings a ledger that a released bundle made to this release. Generated from migrations/ by
-- `make bundle`. Run it as the role that ran the bundle; run again, it changes nothing.
"""
SETTINGS = "set local check_function_bodies = off;\nset local client_min_messages = warning;\n"
RECORD = "insert into preauth.alembic_version (version_num) values ('{revision}');\n"
FIRST = """\
do $$
begin
  if pg_catalog.to_regclass('preauth.budget_window') is null then
    raise exception 'there is no ledger here: run bundle.sql';
  end if;
  if pg_catalog.to_regclass('preauth.alembic_version') is null then
    -- the first bundle did not say which it was
    create table preauth.alembic_version (
      version_num varchar(32) not null, constraint alembic_version_pkc primary key (version_num));
    insert into preauth.alembic_version (version_num) values ('0001');
  end if;
end
$$;
"""
STEP = """\
do $upgrade$
begin
  if (select v.version_num from preauth.alembic_version as v) = '{before}' then
    execute $revision_{revision}$
{text}
$revision_{revision}$;
    update preauth.alembic_version set version_num = '{revision}';
  end if;
end
$upgrade$;
"""


def source_files(directory: Path = SQL) -> list[Path]:
    """Every source file, in load order."""
    generated = {directory / BUNDLE, directory / UPGRADE}
    found = (path for path in directory.rglob("*.sql") if path not in generated)
    return sorted(found, key=lambda path: path.relative_to(directory).as_posix())


def body_text(directory: Path = SQL) -> str:
    """The sources one after the other, each under a line that names it."""
    return "\n".join(_titled(path, directory) for path in source_files(directory))


def bundle_text(directory: Path = SQL, migrations: Path = MIGRATIONS) -> str:
    """One transaction that builds the ledger: the same text for the same sources, always."""
    revisions = _revisions(migrations)
    record = RECORD.format(revision=revisions[-1].name[:4]) if revisions else ""
    return f"{HEADER}\nbegin;\n{SETTINGS}\n{body_text(directory)}\n{record}commit;\n"


def upgrade_text(migrations: Path = MIGRATIONS) -> str:
    """One transaction that brings the ledger of any released bundle to the newest revision."""
    revisions = _revisions(migrations)
    steps = "\n".join(
        STEP.format(before=before.name[:4], revision=path.name[:4], text=path.read_text().strip())
        for before, path in pairwise(revisions)
    )
    return f"{UPGRADE_HEADER}\nbegin;\n{SETTINGS}\n{FIRST}\n{steps}commit;\n"


def _revisions(migrations: Path) -> list[Path]:
    return sorted((migrations / "sql").glob("*.sql"))


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
