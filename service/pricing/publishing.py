"""Publishing a catalogue, and what is published."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime

import click
import psycopg

from service.pricing.difference import Change, changes, matching
from service.pricing.report import change_lines, skipped_lines
from service.pricing.tables import Catalogue
from service.settings import Settings
from service.store import Connection, call, database

__all__ = ["publish", "publish_catalogue", "published_lines"]

ACTOR = "preauth prices"


def publish_catalogue(
    settings: Settings, found: Catalogue, only: tuple[str, ...], *, dry_run: bool
) -> None:
    """Publish what differs from what is published, or only say it.

    Raises:
        click.ClickException: no such name, or a table is refused: then none is published.
    """
    wanted = matching(found, only)
    if not wanted.tables and not wanted.skipped:
        raise click.ClickException(f"no price is called {' or '.join(only) or 'anything'}")
    with database(settings) as dsn, psycopg.connect(dsn) as connection:
        new = list(changes(wanted, call(connection, "price_tables")))
        if not dry_run:
            publish(connection, new)
    for line in _report(new, wanted):
        click.echo(line)
    verb = "to publish" if dry_run else "published"
    same = len(wanted.tables) - len(new)
    click.echo(f"{len(new)} {verb}, {same} the same, {len(wanted.skipped)} skipped", err=True)


def publish(connection: Connection, new: Iterable[Change], actor: str = ACTOR) -> None:
    """Publish all of them or, when one is refused, none.

    Raises:
        click.ClickException: one is refused.
    """
    with connection.transaction():
        for change in new:
            table = change.table
            try:
                call(connection, "publish_price_table", body=table.body(), actor=actor)
            except click.ClickException as error:
                raise click.ClickException(f"{table.name}: {error.message}") from None


def published_lines(settings: Settings, model: str | None, at: datetime | None) -> Iterator[str]:
    """Every published table, as JSON."""
    with database(settings) as dsn, psycopg.connect(dsn) as connection:
        tables = call(connection, "price_tables", model=model, at=at)
    return map(json.dumps, tables)


def _report(new: Iterable[Change], wanted: Catalogue) -> Iterator[str]:
    for change in new:
        yield from change_lines(change)
    yield from skipped_lines("skipped", wanted.skipped)
    yield from skipped_lines("left out", wanted.left_out)
