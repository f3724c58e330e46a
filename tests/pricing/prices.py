"""Every price of genai-prices as a table, usages of them, and what those cost."""

import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time
from fractions import Fraction
from typing import NamedTuple

from genai_prices.data import providers
from genai_prices.types import ModelInfo, ModelPrice

from service.pricing.dimensions import DIMENSIONS, REGISTRY, is_part_of
from service.pricing.importers.genai import catalogue
from service.pricing.tables import Table, Tier
from tests.support.money import Json

__all__ = ["ALL", "CONTEXTS", "INPUT_SIDE", "KEYS", "NOW", "SEED", "our_cost", "usages"]

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SEED = 20261130
CONTEXTS: dict[str | None, dict[str, str]] = {
    None: {},
    "batch": {"processing": "batch"},
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
}

KEYS = {dimension: key for key, dimension in reversed(DIMENSIONS.items())}
"""By dimension, the usage key of genai-prices for just these units."""

INPUT_SIDE = {
    dimension
    for key, dimension in DIMENSIONS.items()
    if is_part_of(REGISTRY.units[key], REGISTRY.units["input_tokens"]) or key == "input_tokens"
}


class Priced(NamedTuple):
    """A table and the price that it was made of."""

    table: Table
    price: ModelPrice


def priced() -> list[Priced]:
    models = {f"{p.id}/{m.id}": m for p in providers for m in p.models}
    return [Priced(table, _price(models, table)) for table in catalogue(NOW).tables]


def _price(models: Mapping[str, ModelInfo], table: Table) -> ModelPrice:
    at = datetime.combine((table.effective_from or NOW).date(), time(), UTC)
    if table.name in models:
        return models[table.name].get_prices(at)
    return models[table.model].get_prices(at, CONTEXTS[table.variant])


def usages(table: Table, rng: random.Random) -> Iterator[dict[str, int]]:
    """Some usages of every dimension in it, in each tier and at its edges."""
    names = sorted(table.tiers[0].rates)
    for tier in table.tiers:
        for total in (tier.above, tier.above + 1):
            yield {"input_tokens": total} if "input_tokens" in names else {names[0]: total}
    for _ in range(4):
        some = rng.sample(names, rng.randint(1, len(names)))
        yield {name: rng.randrange(10 ** rng.randint(1, 7)) for name in some}
    yield {name: rng.randrange(2**40) for name in names}


def tier_of(table: Table, usage: Json) -> Tier:
    total = sum(count for name, count in usage.items() if name in INPUT_SIDE)
    return max((t for t in table.tiers if t.above < total or not t.above), key=lambda t: t.above)


def our_cost(table: Table, usage: Json) -> Fraction:
    """In USD, by the published rates."""
    rates = tier_of(table, usage).rates
    return sum((count * rates[name].exact for name, count in usage.items()), Fraction(0)) / 10**6


ALL = priced()
