"""A database's ledger as a dictionary, so that two databases can be compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psycopg

__all__ = ["Catalog", "Difference", "Thing", "catalog_of", "differences"]

SCHEMAS = ("preauth", "preauth_api")
QUERY = Path(__file__).with_name("catalog.sql").read_text("utf-8")


class Thing(NamedTuple):
    """What kind of thing, and its full name: ``("column", "preauth.account.path")``."""

    kind: str
    name: str


Catalog = dict[Thing, str]
"""Every schema, type, table, column, constraint, index, function, view, trigger, row security flag,
policy, owner, grant, default privilege and comment, with a text that is equal when the thing is.
The order of a table's columns is not compared: a column that is added later comes last."""


class Difference(NamedTuple):
    """One thing on which two databases disagree; ``None`` is "not there"."""

    thing: Thing
    before: str | None
    after: str | None


def catalog_of(
    connection: psycopg.Connection[tuple[object, ...]], schemas: Sequence[str] = SCHEMAS
) -> Catalog:
    """The catalog of ``schemas``. Names come out qualified, whatever the search path is."""
    with connection.transaction():
        connection.execute("set local search_path = pg_catalog")
        rows = connection.execute(QUERY.encode(), {"schemas": list(schemas)}).fetchall()
    return {Thing(str(kind), str(name)): str(text) for kind, name, text, _ in rows}


def differences(before: Catalog, after: Catalog) -> list[Difference]:
    """What must change to come from ``before`` to ``after``; empty when they are equal."""
    things = [*(thing for thing in before if thing not in after), *after]
    found = (Difference(thing, before.get(thing), after.get(thing)) for thing in things)
    return [difference for difference in found if difference.before != difference.after]
