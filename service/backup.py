"""``preauth backup`` and ``preauth restore``: PostgreSQL's programs, and what a ledger needs more.

The file is pg_dump's custom format of both schemas. It names no role: owners and grants are made
anew at the restore, by the ledger's own ``preauth._lock_down()``, for the roles of that cluster.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from service.paths import SQL
from service.postgres import PostgresError
from service.postgres.binaries import embedded_bin_dir

__all__ = ["BackupError", "backup", "program", "restore"]

SCHEMAS = ("preauth", "preauth_api")
DUMP = (
    "--format=custom",
    "--no-owner",
    "--no-privileges",
    *(f"--schema={schema}" for schema in SCHEMAS),
)
UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;\n"
"""pg_restore 17 and later write it for every server."""
FIRST = (b"\\set ON_ERROR_STOP on\n", b"begin;\n")
LAST = (b"select from preauth._lock_down();\n", b"commit;\n")
FOUND = "select nspname from pg_catalog.pg_namespace where nspname = any (%s) order by nspname"
TABLES = "select tablename from pg_catalog.pg_tables where schemaname = 'preauth'"


class BackupError(PostgresError):
    """The file was not written, or the database is as empty as it was; the message says why."""


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs: the embedded one, else the first on PATH."""
    try:
        embedded = embedded_bin_dir() / name
    except PostgresError:
        embedded = None
    if embedded is not None and os.access(embedded, os.X_OK):
        return str(embedded)
    if found := shutil.which(name):
        return found
    raise BackupError(f"{name} is neither in the embedded PostgreSQL nor on PATH: install it")


def backup(dsn: str, file: Path) -> None:
    """Write the ledger as of now to ``file``: all of it, or no file."""
    pg_dump = program("pg_dump")
    if file.exists():
        raise BackupError(f"{file} exists: name a new file")
    draft = file.with_name(f"{file.name}.part")
    target, environment = _connection(dsn)
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    except OSError as error:
        raise BackupError(f"cannot write {draft}: {error.strerror}") from None
    try:
        done = subprocess.run(
            [pg_dump, *DUMP, "--no-password", f"--file={draft}", f"--dbname={target}"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode != 0:
            raise BackupError(_said("pg_dump", done.stderr))
        draft.rename(file)
    finally:
        draft.unlink(missing_ok=True)
    _sync(file.absolute().parent)


def restore(dsn: str, file: Path) -> None:
    """Put what ``backup`` wrote into a database without a ledger, in one transaction."""
    pg_restore, psql = program("pg_restore"), program("psql")
    _refuse_what_is_there(dsn)
    target, environment = _connection(dsn)
    with (
        subprocess.Popen(
            [pg_restore, "--no-owner", "--no-privileges", "--file=-", str(file)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as source,
        subprocess.Popen(
            [psql, "--no-psqlrc", "--quiet", "--no-password", f"--dbname={target}"],
            env={**environment, "PGOPTIONS": "-c client_min_messages=warning"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as sink,
    ):
        _pour(source, sink)
    _analyze(dsn)


def _pour(source: "subprocess.Popen[bytes]", sink: "subprocess.Popen[bytes]") -> None:
    """Commit only once the whole file has been read: a sink that reads no commit undoes it all."""
    assert source.stdout is not None  # noqa: S101 both are pipes
    assert sink.stdin is not None  # noqa: S101
    broken = not _write(sink.stdin, (*FIRST, _roles(), *_for_any_server(source.stdout)))
    source.stdout.close()
    unread = source.wait()
    if unread == 0 and not broken:
        broken = not _write(sink.stdin, LAST)
    _, complaint = sink.communicate()
    if sink.returncode != 0 or broken:
        raise BackupError(_said("psql", complaint))
    if unread != 0:
        raise BackupError(_said("pg_restore", source.stderr.read() if source.stderr else b""))


def _write(pipe: IO[bytes], lines: Iterable[bytes]) -> bool:
    """Whether the other end took them all."""
    try:
        pipe.writelines(lines)
        pipe.flush()
    except BrokenPipeError:
        return False
    return True


def _roles() -> bytes:
    return (SQL / "005_roles.sql").read_bytes()


def _for_any_server(script: IO[bytes]) -> Iterator[bytes]:
    """The script without the setting at its head that PostgreSQL 15 and 16 do not know."""
    for line in script:
        if line == UNKNOWN_BEFORE_17:
            break
        yield line
    yield from script


def _refuse_what_is_there(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        found = [row[0] for row in connection.execute(FOUND, [list(SCHEMAS)])]
    if found:
        raise BackupError(
            f"the database has a schema {' and a schema '.join(found)}: restore into an empty one"
        )


def _analyze(dsn: str) -> None:
    """What was loaded has no statistics yet, and plans would be made without."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for (name,) in connection.execute(TABLES).fetchall():
            connection.execute(sql.SQL("analyze preauth.{}").format(sql.Identifier(name)))


def _connection(dsn: str) -> tuple[str, dict[str, str]]:
    """How to name the database on a command line, where all may read, and the rest."""
    parts: dict[str, Any] = conninfo_to_dict(dsn)
    password = parts.pop("password", None)
    secret = {} if password is None else {"PGPASSWORD": str(password)}
    return make_conninfo(**parts), {**os.environ, **secret}


def _said(name: str, complaint: bytes) -> str:
    return f"{name}: {complaint.decode(errors='replace').strip() or 'it failed'}"


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
