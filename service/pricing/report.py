"""Lines for a person: what an import changes, and what it skips."""

from collections.abc import Iterable, Iterator

from service.pricing.difference import Change
from service.pricing.tables import Skipped, Tier

__all__ = ["change_lines", "skipped_lines"]


def change_lines(change: Change) -> Iterator[str]:
    """A heading, then a line for each rate that is new (+), gone (-) or another (~)."""
    table = change.table
    sign = "+" if change.before is None else "~" if change.priced else "="
    since = f" from {table.effective_from:%Y-%m-%d}" if table.effective_from else ""
    yield f"{sign} {table.name}{since}"
    before, after = _texts(change.before or ()), _texts(table.tiers)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield f"    {_difference(name, before.get(name), after.get(name))}"
    if change.aliases:
        yield f"    also called {', '.join(change.aliases)}"


def _texts(tiers: Iterable[Tier]) -> dict[str, str]:
    """By dimension and tier, what the rate is."""
    return {
        f"{name} above {tier.above:,}" if tier.above else name: rate.usd
        for tier in tiers
        for name, rate in tier.rates.items()
    }


def _difference(name: str, before: str | None, after: str | None) -> str:
    if before is None:
        return f"+ {name} {after}"
    if after is None:
        return f"- {name} {before}"
    return f"~ {name} {before} -> {after}"


def skipped_lines(title: str, skipped: Iterable[Skipped]) -> Iterator[str]:
    """What was skipped and why, by name."""
    found = sorted(skipped)
    if found:
        yield f"{title}:"
    for one in found:
        yield f"    {one.name}: {one.reason}"
