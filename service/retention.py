"""Move what is old out of the ledger into files, and prove that the files hold it.

A file is gzip'd lines of JSON, one reservation a line with its lines and events, exactly as
PostgreSQL wrote them: the ledger keeps each line's SHA-256. A batch is on the disk before the
ledger lets go of it; after a crash in between it comes again, and reading counts it once.
"""

import gzip
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import click

from service.archives import SUFFIX, read
from service.store import Connection

__all__ = ["archive", "check", "subtract_months"]

BATCH = 1000

_TAKE = "select document, cursor from preauth_api.archive(%s, %s, %s)"
_FIGURES = "select window_id, settled_amount, line_count from preauth_api.archive_figures()"


def subtract_months(instant: datetime, months: int) -> datetime:
    """So many months earlier, on the first day of that month at midnight UTC."""
    number = instant.year * 12 + instant.month - 1 - months
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)


def archive(connection: Connection, directory: Path, before: datetime) -> int:
    """Move what is from before an instant into new files; how many reservations that were.

    Raises:
        click.ClickException: a file could not be written; what it was to hold is in the ledger.
    """
    moved, cursor = 0, None
    while True:
        with connection.transaction():
            rows = connection.execute(_TAKE, [before, BATCH, cursor]).fetchall()
            if not rows:
                return moved
            try:
                _keep(directory, [str(row[0]) for row in rows])
            except OSError as error:
                raise click.ClickException(f"{directory}: {error.strerror}") from None
        moved, cursor = moved + len(rows), rows[-1][1]


def _keep(directory: Path, documents: list[str]) -> None:
    """Write a file of its own: whole and on the disk when this returns, or not there."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}{SUFFIX}"
    draft = path.with_suffix(".draft")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(gzip.compress("".join(f"{document}\n" for document in documents).encode()))
        file.flush()
        os.fsync(handle)
    draft.rename(path)
    folder = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check(connection: Connection, directory: Path) -> list[str]:
    """Which files are damaged, and what the ledger says must be in the archive and is not.

    Empty when all is there.
    """
    damaged: list[str] = []
    settled, lines = Counter[int](), Counter[int]()
    for _, document in read(directory, connection, lambda error: damaged.append(str(error))):
        for line in document["lines"]:
            settled[line["window_id"]] += line["settled_amount"] or 0
            lines[line["window_id"]] += 1
    return damaged + [
        f"window {window}: {lines[window]} lines and {settled[window]} settled in the archive, "
        f"{count} and {amount} moved out"
        for window, amount, count in connection.execute(_FIGURES)
        if (lines[window], settled[window]) != (count, amount)
    ]
