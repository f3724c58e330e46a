"""Read the files that `service.retention` writes, each reservation once.

A crash between a file and its commit leaves reservations in the archive that are still in the
ledger, where they may change before they come again. So one line a reservation counts: the one
whose SHA-256 the ledger kept; where it kept none of them, or may not be asked, the last file's.
"""

import gzip
import hashlib
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import psycopg

from service.store import Connection

__all__ = ["SUFFIX", "DamagedFileError", "read"]

SUFFIX = ".jsonl.gz"

_KEPT = """
  select request_id, account_id, created_at, decode(body ->> 'archived', 'hex')
  from preauth.reservation where request_id = any (%s)"""
_FORGOTTEN = "forgotten:"
"""How the name begins that `preauth forget` gives."""


class DamagedFileError(Exception):
    """A file of an archive cannot be read, or is not what was written."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: damaged: {why}")


class _Line(NamedTuple):
    """A reservation as it was written. created_at tells it from who came back after a forget."""

    text: str
    digest: bytes
    document: dict[str, Any]
    request_id: str
    account_id: str
    created_at: datetime


class _Kept(NamedTuple):
    """What the ledger has of a reservation; digest is None while all of it is there."""

    account_id: str
    digest: bytes | None


_Ledger = dict[tuple[str, datetime], list[_Kept]]


def _refuse(error: DamagedFileError) -> NoReturn:
    raise error


def read(
    directory: Path,
    connection: Connection | None = None,
    tell: Callable[[DamagedFileError], object] = _refuse,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every archived reservation once: its line as it was written, and what it says.

    ``connection``: to the ledger, which knows what it let go of. ``tell``: is told of each damaged
    file, which is then left out.

    Raises:
        DamagedFileError: a file is damaged, and no ``tell`` is given.
    """
    sound: list[Path] = []
    chosen: dict[object, bytes] = {}
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        try:
            lines = _lines(path)
        except DamagedFileError as error:
            tell(error)
            continue
        sound.append(path)
        _choose(lines, _kept(lines, connection), chosen)
    wanted = set(chosen.values())
    for path in sound:
        for line in _lines(path):
            if line.digest in wanted:
                wanted.remove(line.digest)
                yield line.text, line.document


def _lines(path: Path) -> list[_Line]:
    try:
        content = gzip.decompress(path.read_bytes())
        lines = [_line(text) for text in content.split(b"\n") if text]
    except OSError as error:
        raise DamagedFileError(path, error.strerror or str(error)) from None
    except (EOFError, zlib.error) as error:
        raise DamagedFileError(path, str(error)) from None
    except (ValueError, RecursionError, LookupError, TypeError):
        raise DamagedFileError(path, "a line is not a reservation in JSON") from None
    if not lines:
        raise DamagedFileError(path, "it is empty")
    return lines


def _line(content: bytes) -> _Line:
    text = content.decode()
    document = json.loads(text)
    reservation = document["reservation"]
    if not all(_is_hold(line) for line in document["lines"]):
        raise ValueError("no hold line")
    return _Line(
        text,
        hashlib.sha256(content).digest(),
        document,
        str(reservation["request_id"]),
        str(reservation["account_id"]),
        datetime.fromisoformat(reservation["created_at"]),
    )


def _is_hold(line: dict[str, Any]) -> bool:
    return isinstance(line["window_id"], int) and isinstance(line["settled_amount"], int | None)


def _kept(lines: Iterable[_Line], connection: Connection | None) -> _Ledger:
    """What the ledger has of the same requests; nothing where its tables may not be read."""
    found: _Ledger = defaultdict(list)
    if connection is None:
        return found
    try:
        with connection.transaction():
            rows = connection.execute(_KEPT, [[line.request_id for line in lines]]).fetchall()
    except psycopg.errors.InsufficientPrivilege:
        return found
    for request_id, account_id, created_at, digest in rows:
        found[request_id, created_at].append(_Kept(account_id, digest))
    return found


def _choose(lines: Iterable[_Line], ledger: _Ledger, chosen: dict[object, bytes]) -> None:
    """Note the line that counts for each reservation, by the digest that the ledger kept of it."""
    for line in lines:
        kept = _of(line, ledger.get((line.request_id, line.created_at), []))
        if kept is None:
            chosen[line.request_id, line.account_id, line.created_at] = line.digest
        elif kept.digest is not None and chosen.get(kept.digest) != kept.digest:
            chosen[kept.digest] = line.digest


def _of(line: _Line, rows: list[_Kept]) -> _Kept | None:
    """Which of the ledger's rows a line is of: a forgotten account has another name there."""
    by_likeness: tuple[Callable[[_Kept], bool], ...] = (
        lambda row: row.digest == line.digest,
        lambda row: row.account_id == line.account_id,
        lambda row: row.account_id.startswith(_FORGOTTEN),
    )
    for is_like in by_likeness:
        for row in rows:
            if is_like(row):
                return row
    return None
