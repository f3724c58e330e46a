"""The examples of the documentation do what they say."""

import os
import re
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.types.string import TextLoader

from service.paths import SQL

EXAMPLES = SQL.parent / "docs" / "examples"
FILES = sorted(EXAMPLES.glob("*.sql"))
LATER = re.compile(r"\((\d+) (second|minute|hour|day)s? later\)")


def steps(text: str) -> Iterator[str]:
    """Statements, each with the comments before it."""
    for part in re.split(r"(?<=;)\n+", text.strip()):
        yield part.strip()


def shown(cursor: psycopg.Cursor) -> str:
    """A result as psql shows it."""
    if cursor.description is None:
        return cursor.statusmessage or ""
    names = [column.name for column in cursor.description]
    rows = [["" if value is None else str(value) for value in row] for row in cursor]
    if len(names) == 1 and any("\n" in row[0] for row in rows):
        return "\n".join([f"{names[0]}:", *(row[0] for row in rows)])
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = [names, ["-" * width for width in widths], *rows]
    table = (
        " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )
    return "\n".join([*table, f"({len(rows)} row{'' if len(rows) == 1 else 's'})"])


def answer(connection: psycopg.Connection, step: str) -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute(step.encode())
            return shown(cursor)
    except psycopg.Error as error:
        return f"ERROR: {error.diag.message_primary}"


def transcript(url: str, text: str, clock) -> str:
    parts = []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set time zone 'UTC'")
        for kind in ("json", "jsonb"):
            connection.adapters.register_loader(kind, TextLoader)
        for step in steps(text):
            for number, unit in LATER.findall(step):
                clock.advance(**{f"{unit}s": int(number)})
            clock.advance(microseconds=1000)
            parts.append(f"{step}\n\n{answer(connection, step)}\n")
    return "\n".join(parts)


def test_there_are_examples():
    assert len(FILES) >= 9
    listed = re.findall(r"\((\S+\.sql)\)", (EXAMPLES / "README.md").read_text())
    assert sorted(listed) == [path.name for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_gives_what_the_documentation_shows(database_url, clock, path):
    found = transcript(database_url, path.read_text(), clock)
    expected = path.with_suffix(".out")
    if os.environ.get("PREAUTH_UPDATE_EXAMPLES"):
        expected.write_text(found)
    assert found == expected.read_text()


def test_every_call_of_the_audit_is_in_an_example(database_url):
    with psycopg.connect(database_url) as connection:
        names = connection.execute(
            "select proname from pg_proc where pronamespace = 'preauth_api'::regnamespace and proname like 'audit%'"
        ).fetchall()
    text = "".join(path.read_text() for path in FILES)
    assert {name for (name,) in names if name not in text} <= {"audit_verify"}
