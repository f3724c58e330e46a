"""Every price of genai-prices, as tables: the same cost, to the last digit."""

import random
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace

import pytest
from genai_prices.data import providers
from genai_prices.decompose import compute_leaf_values
from genai_prices.types import ModelPrice, TieredPrices, Usage

from service.pricing.dimensions import REGISTRY, is_part_of
from service.pricing.importers.genai import catalogue
from service.pricing.tables import with_variant
from tests.pricing.prices import ALL, CONTEXTS, KEYS, NOW, SEED, our_cost, usages
from tests.support.money import Json


def inclusive(usage: Json) -> dict[str, int]:
    """The same usage as genai-prices counts it: every whole includes its parts."""
    counts: dict[str, int] = {}
    for dimension, count in usage.items():
        unit = REGISTRY.units[KEYS[dimension]]
        for key, other in REGISTRY.units.items():
            if other is unit or is_part_of(unit, other):
                counts[key] = counts.get(key, 0) + count
    return counts


def true_cost(price: ModelPrice, counts: dict[str, int]) -> Fraction:
    """In USD, by genai-prices' figures and its own division into parts, without its rounding."""
    prices = {
        REGISTRY.unit_for_price_key(key).usage_key: value
        for key, value in vars(price).items()
        if value is not None
    }
    usage = SimpleNamespace(**{key: counts.get(key, 0) for key in prices})
    leaves = compute_leaf_values(set(prices), usage, REGISTRY.units)
    total = counts.get("input_tokens", 0)
    return sum(
        (
            Fraction(_at(prices[key], total)) * int(count) / REGISTRY.units[key].per
            for key, count in leaves.items()
        ),
        Fraction(0),
    )


def _at(price: Decimal | TieredPrices, total: int) -> Decimal:
    if isinstance(price, Decimal):
        return price
    for tier in reversed(price.tiers):
        if total > tier.start:
            return tier.price
    return price.base


def test_the_catalogue_is_the_whole_list():
    models = {table.model for table, _ in ALL}
    rates = sum(len(tier.rates) for table, _ in ALL for tier in table.tiers)
    assert len(models) > 1900
    assert rates > 8000
    assert {table.variant for table, _ in ALL} == set(CONTEXTS)


def test_every_model_is_a_table_or_skipped_for_a_reason():
    found = catalogue(NOW)
    named = {f"{p.id}/{m.id}" for p in providers for m in p.models}
    taken = {t.model for t in found.tables} | {t.name for t in found.tables}
    skipped = {s.name: s.reason for s in found.skipped}
    assert named == (named & taken) | skipped.keys()
    assert not taken & skipped.keys()
    reasons = [
        r for r in skipped.values()
        if "no price" not in r and "time of day" not in r and "model name" not in r
    ]  # fmt: skip
    assert all(r.endswith("more digits than a rate can hold exactly") for r in reasons)


@pytest.mark.parametrize("part", range(8))
def test_every_cost_is_the_exact_rational_cost(part):
    rng = random.Random(f"{SEED}-{part}")
    compared = 0
    for table, price in ALL[part::8]:
        for usage in usages(table, rng):
            assert our_cost(table, usage) == true_cost(price, inclusive(usage)), (table, usage)
            compared += 1
    assert compared > 1500


def test_the_true_cost_is_that_of_genai_prices_itself_before_it_rounds():
    rng = random.Random(SEED)
    for table, price in rng.sample(ALL, 150):
        for usage in usages(table, rng):
            counts = inclusive(usage)
            if "requests" in table.tiers[0].rates:
                continue  # it counts one request, whatever the usage says
            with localcontext() as context:
                context.prec = 80
                reported = {k: counts.get(k, 0) for k in REGISTRY.units if k != "requests"}
                theirs = Fraction(price.calc_price(Usage(**reported))["total_price"])
            assert abs(theirs - true_cost(price, counts)) < Fraction(1, 10**40), (table, usage)


def test_no_alias_is_the_name_of_another_table():
    aliases = {with_variant(alias, t.variant) for t, _ in ALL for alias in t.aliases}
    assert aliases
    assert not aliases & {table.name for table, _ in ALL}
