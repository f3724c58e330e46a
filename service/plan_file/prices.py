"""What the price tables of a file would publish."""

from collections.abc import Iterator, Sequence

from service.api.price_tables import PriceTableFields
from service.plan_file.change import ABSENT, Change, Difference, Json, is_problem, refused
from service.plan_file.faults import PlanFileError
from service.plan_file.reader import Source
from service.pricing.tables import with_variant
from service.store import Connection, answer_of

__all__ = ["price_changes"]

PUBLISH = "publish_price_table"
USUAL = "usd_nano"


def price_changes(
    connection: Connection, tables: Sequence[PriceTableFields], source: Source, why: Json
) -> list[Change]:
    """The publications that are due; none where the ledger says the same already.

    Only the ledger can tell, so all are published, in their order, and undone.

    Raises:
        PlanFileError: the ledger would refuse one.
    """
    found: list[Change] = []
    if not tables:
        return found
    with connection.transaction(force_rollback=True):
        for place, table in enumerate(tables):
            body = table.model_dump(mode="json", exclude_unset=True) | why
            aliases = [with_variant(alias, table.variant) for alias in table.aliases or ()]
            known = [len(_versions(connection, alias, table)) for alias in aliases]
            answer = answer_of(connection, PUBLISH, body=body)
            if is_problem(answer):
                raise PlanFileError(refused(answer, ("price_tables", place), source))
            new = [
                alias
                for alias, before in zip(aliases, known, strict=True)
                if len(_versions(connection, alias, table)) != before
            ]
            differences = (*_of_rates(connection, table, answer), *_of_aliases(table, new))
            if differences:
                at = ("price_tables", place)
                found.append(Change(at, differences, PUBLISH, {"body": body}))
    return found


def _versions(connection: Connection, name: str, table: PriceTableFields) -> list[Json]:
    """What is published under a name in the table's unit, the newest first."""
    unit = table.unit or USUAL
    return [row for row in answer_of(connection, "price_tables", model=name) if row["unit"] == unit]


def _of_rates(connection: Connection, table: PriceTableFields, made: Json) -> Iterator[Difference]:
    """What the table says otherwise than the one that it takes the place of."""
    if made["replayed"]:
        return
    versions = _versions(connection, made["name"], table)
    place = [row["price_table_id"] for row in versions].index(made["price_table_id"])
    after = _said(made, table)
    if place + 1 == len(versions):
        yield _path(table), ABSENT, after
        return
    before = _said(versions[place + 1], table)
    for key in {**before, **after}:
        old, new = before.get(key, ABSENT), after.get(key, ABSENT)
        if old != new:
            yield f"{_path(table)}.{key}", old, new


def _said(row: Json, table: PriceTableFields) -> Json:
    """What a table says, by path: when, where the file says that too, and each rate."""
    said = {"effective_from": row["effective_from"]} if table.effective_from else {}
    said |= {key: row[key] for key in ("alias_of", "tiers") if row[key] is not None}
    return said | {f"rates.{name}": rate for name, rate in (row["rates"] or {}).items()}


def _of_aliases(table: PriceTableFields, new: list[str]) -> Iterator[Difference]:
    if new:
        yield f"{_path(table)}.aliases", ABSENT, new


def _path(table: PriceTableFields) -> str:
    name = f"price_tables.{with_variant(table.model, table.variant)}"
    return name if table.unit in (None, USUAL) else f"{name} in {table.unit}"
