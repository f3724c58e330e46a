"""The ledger for the command line: one psycopg connection, one call at a time."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from service.postgres import open_server
from service.settings import Settings

__all__ = ["Connection", "answer_of", "call", "database", "problem_of", "rows"]

PROBLEM = 400

Connection = psycopg.Connection[tuple[Any, ...]]


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """A URL of the database: the one that is set, or the embedded one, started if it isn't."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    with open_server(settings.data_dir) as dsn:
        yield dsn


def call(connection: Connection, function: str, **arguments: Any) -> Any:
    """What ``preauth_api.<function>(...)`` returns.

    Raises:
        click.ClickException: it returned a problem.
    """
    answer = answer_of(connection, function, **arguments)
    if problem := problem_of(answer):
        raise click.ClickException(problem)
    return answer


def answer_of(connection: Connection, function: str, **arguments: Any) -> Any:
    """What ``preauth_api.<function>(...)`` returns, be it a problem."""
    statement = sql.SQL("select preauth_api.{}({})").format(
        sql.Identifier(function),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
            for name in arguments
        ),
    )
    values = {n: Jsonb(v) if isinstance(v, dict) else v for n, v in arguments.items()}
    row = connection.execute(statement, values).fetchone()
    return row[0] if row else None


def problem_of(answer: object) -> str | None:
    """What a problem object says, in a line; None for an answer that is none."""
    if not isinstance(answer, dict) or "title" not in answer:
        return None
    status = answer.get("status")
    if not isinstance(status, int) or status < PROBLEM:
        return None
    errors = f" {json.dumps(answer['errors'])}" if answer.get("errors") else ""
    return f"{answer['title']}: {answer.get('detail', '')}{errors}"


def rows(connection: Connection, function: str) -> list[dict[str, Any]]:
    """The rows of ``preauth_api.<function>()`` by column."""
    statement = sql.SQL("select * from preauth_api.{}()").format(sql.Identifier(function))
    cursor = connection.execute(statement)
    names = [column.name for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor]
