"""What publishing a catalogue would change, against what is published."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from service.pricing.rates import Rate
from service.pricing.tables import Catalogue, Skipped, Table, Tier, with_variant

__all__ = ["Change", "Published", "changes", "matching"]

UNIT = "usd_nano"
END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class Published(NamedTuple):
    """One published version of a table."""

    effective_from: datetime
    tiers: tuple[Tier, ...]


class Change(NamedTuple):
    """A table to publish: for its prices, or only for more aliases.

    ``before``: what it takes the place of; None: it is the first of its name.
    """

    table: Table
    before: tuple[Tier, ...] | None
    aliases: tuple[str, ...]
    priced: bool


def matching(found: Catalogue, patterns: Iterable[str]) -> Catalogue:
    """The part of a catalogue whose names match one of the patterns; all of it without patterns."""
    patterns = tuple(patterns)

    def wanted(name: str) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    return Catalogue(
        [t for t in found.tables if wanted(t.name)],
        [s for s in found.skipped if wanted(s.name)],
        [s for s in found.left_out if wanted(s.name)],
    )


def changes(
    found: Catalogue, published: Sequence[Mapping[str, Any]], now: datetime | None = None
) -> Iterator[Change]:
    """The tables that say something else than what is published for the same time.

    One that is for the very instant of a published one can't take its place: it is skipped. A name
    with a price of its own isn't made an alias.
    """
    now = now or datetime.now(UTC)
    versions, aliases = _versions(published), _aliases(published)
    own = versions.keys() - aliases.keys()
    for listed in _once(found):
        table = replace(listed, aliases=_free(listed, own, found))
        known = versions.setdefault(table.name, [])
        before = _at(known, table.effective_from or now)
        change = _change(table, before, aliases)
        if change.priced and before and before.effective_from == table.effective_from:
            since = f"{before.effective_from:%Y-%m-%d}"
            found.skipped.append(Skipped(table.name, f"another price is published from {since}"))
        elif change.priced or change.aliases:
            known.append(Published(table.effective_from or now, table.tiers))
            yield change


def _once(found: Catalogue) -> Iterator[Table]:
    """The tables, but none of which the list has two for one name and time."""
    times = Counter((table.name, table.effective_from) for table in found.tables)
    for table in found.tables:
        if times[table.name, table.effective_from] == 1:
            yield table
    twice = {name for (name, _), count in times.items() if count > 1}
    found.skipped += [Skipped(name, "the list has two prices for it") for name in sorted(twice)]


def _change(table: Table, before: Published | None, aliases: Mapping[str, str]) -> Change:
    priced = before is None or _values(before.tiers) != _values(table.tiers)
    new = [a for a in table.aliases if aliases.get(with_variant(a, table.variant)) != table.name]
    return Change(table, before.tiers if before else None, tuple(new), priced)


def _free(table: Table, own: Collection[str], found: Catalogue) -> tuple[str, ...]:
    taken = [a for a in table.aliases if with_variant(a, table.variant) in own]
    found.left_out += [Skipped(a, f"it has a price, and isn't {table.name}") for a in taken]
    return tuple(a for a in table.aliases if a not in taken)


def _at(versions: Iterable[Published], at: datetime) -> Published | None:
    reached = [version for version in versions if version.effective_from <= at]
    return max(reached, key=lambda version: version.effective_from, default=None)


def _versions(published: Iterable[Mapping[str, Any]]) -> dict[str, list[Published]]:
    found: dict[str, list[Published]] = {}
    for row in published:
        if row["unit"] == UNIT and row.get("alias_of") is None:
            version = Published(_instant(row["effective_from"]), _tiers(row))
            found.setdefault(row["name"], []).append(version)
    return found


def _aliases(published: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """By name, what its newest version stands for."""
    newest: dict[str, Mapping[str, Any]] = {}
    for row in published:
        if row["unit"] == UNIT:
            before = newest.setdefault(row["name"], row)
            if _instant(row["effective_from"]) > _instant(before["effective_from"]):
                newest[row["name"]] = row
    return {n: row["alias_of"] for n, row in newest.items() if row.get("alias_of") is not None}


def _instant(text: str) -> datetime:
    """A time that the ledger tells; one after the year 9999, which older releases took, is last."""
    year = text.partition("-")[0]
    return END_OF_TIME if len(year) > len("9999") else datetime.fromisoformat(text)


def _tiers(row: Mapping[str, Any]) -> tuple[Tier, ...]:
    tiers = row.get("tiers") or [{"above_input_tokens": 0, "rates": row["rates"]}]
    return tuple(Tier(tier["above_input_tokens"], _rates(tier["rates"])) for tier in tiers)


def _rates(rates: Mapping[str, Mapping[str, Any]]) -> dict[str, Rate]:
    return {name: Rate(rate["micro_usd"], rate["per"]) for name, rate in rates.items()}


def _values(tiers: tuple[Tier, ...]) -> object:
    """The same prices are equal, however their fractions are written."""
    return [(t.above, {name: rate.exact for name, rate in t.rates.items()}) for t in tiers]
