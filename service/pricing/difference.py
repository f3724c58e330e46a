"""What publishing a catalogue would change, against what is published."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from service.pricing.rates import Rate
from service.pricing.tables import Catalogue, Skipped, Table, Tier

__all__ = ["Change", "Published", "changes", "matching"]

UNIT = "usd_nano"


class Published(NamedTuple):
    """One published version of a table."""

    effective_from: datetime
    tiers: tuple[Tier, ...]


class Change(NamedTuple):
    """A table to publish, and what it takes the place of: None if it is the first of its name."""

    table: Table
    before: tuple[Tier, ...] | None


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
    found: Catalogue, published: Iterable[Mapping[str, Any]], now: datetime | None = None
) -> Iterator[Change]:
    """The tables that say something else than what is published for the same time.

    One that is for the very instant of a published one can't take its place: it is skipped.
    """
    now = now or datetime.now(UTC)
    versions = _versions(published)
    for table in found.tables:
        at = table.effective_from or now
        known = versions.setdefault(table.name, [])
        before = _at(known, at)
        if before is not None and _values(before.tiers) == _values(table.tiers):
            continue
        if before is not None and before.effective_from == at:
            found.skipped.append(Skipped(table.name, f"another price is published from {at}"))
            continue
        known.append(Published(at, table.tiers))
        yield Change(table, before.tiers if before else None)


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


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _tiers(row: Mapping[str, Any]) -> tuple[Tier, ...]:
    tiers = row.get("tiers") or [{"above_input_tokens": 0, "rates": row["rates"]}]
    return tuple(Tier(tier["above_input_tokens"], _rates(tier["rates"])) for tier in tiers)


def _rates(rates: Mapping[str, Mapping[str, Any]]) -> dict[str, Rate]:
    return {name: Rate(rate["micro_usd"], rate["per"]) for name, rate in rates.items()}


def _values(tiers: tuple[Tier, ...]) -> object:
    """The same prices are equal, however their fractions are written."""
    return [(t.above, {name: rate.exact for name, rate in t.rates.items()}) for t in tiers]
