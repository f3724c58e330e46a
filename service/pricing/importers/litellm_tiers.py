"""The tiers of LiteLLM's list: rates from so many input tokens on, for every token."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from service.pricing.importers.litellm_fields import (
    TOKENS,
    Field,
    UnclearPriceError,
    is_price,
    stated,
)
from service.pricing.rates import Rate
from service.pricing.tables import Tier

__all__ = ["add_rate", "tiered", "tiers_of", "varied"]

Rates = Mapping[str, Rate]


def add_rate(rates: dict[tuple[str, int], Rate], field: Field) -> None:
    """Take a field's rate down by its dimension and where it begins.

    Raises:
        UnclearPriceError: there is another one.
        InexactRateError: it has more digits than a rate can hold.
    """
    rate = field.rate
    known = rates.setdefault((field.dimension, field.above), rate)
    if known.exact != rate.exact:
        raise UnclearPriceError(f"it has two prices for {field.dimension}")


def tiers_of(rates: Mapping[tuple[str, int], Rate]) -> tuple[Tier, ...]:
    """A dimension without a rate of its own for a tier keeps its base rate, as in the list.

    Raises:
        UnclearPriceError: one has a rate for a tier, and none below it.
    """
    bases = {name for name, above in rates if above == 0}
    for name, above in rates:
        if name not in bases:
            raise UnclearPriceError(f"it has a price for {name} above {above} tokens alone")
    return tuple(
        Tier(above, {name: _rate_above(rates, name, above) for name in sorted(bases)})
        for above in sorted({above for _, above in rates})
    )


def _rate_above(rates: Mapping[tuple[str, int], Rate], name: str, above: int) -> Rate:
    reached = max(start for dimension, start in rates if dimension == name and start <= above)
    return rates[name, reached]


def varied(standard: tuple[Tier, ...], own: list[Field]) -> tuple[Tier, ...]:
    """A variant's rates, for the dimensions and the tiers of the standard price.

    A dimension without a rate of the variant keeps its standard one, as in the list.
    """
    rates: dict[tuple[str, int], Rate] = {}
    for field in own:
        add_rate(rates, field)
    named = {name for name, _ in rates}
    starts = {name: _tier_starts(standard, name) for name in standard[0].rates}
    for name in sorted(named | _priced_tokens(standard)):
        if starts.get(name) != {above for other, above in rates if other == name}:
            raise UnclearPriceError(f"it has no price for {name} in the standard tiers")
    return tuple(
        Tier(tier.above, {**tier.rates, **{n: _rate_above(rates, n, tier.above) for n in named}})
        for tier in standard
    )


def _priced_tokens(tiers: tuple[Tier, ...]) -> set[str]:
    """The input and the output, where they cost something: no variant leaves them out."""
    rates = tiers[0].rates
    return {n for n in ("input_tokens", "output_tokens") if n in rates and rates[n].micro_usd}


def _tier_starts(tiers: tuple[Tier, ...], name: str) -> set[int]:
    """Where a dimension's rate changes."""
    before, starts = None, set()
    for tier in tiers:
        if tier.rates[name] != before:
            starts.add(tier.above)
        before = tier.rates[name]
    return starts


def tiered(ranges: Any, fields: list[Field]) -> tuple[Tier, ...]:
    """``tiered_pricing``: ranges of input tokens that follow each other, from 0."""
    if (
        not isinstance(ranges, list)
        or not ranges
        or any(f.dimension != "web_searches" for f in fields)
    ):
        raise UnclearPriceError("tiered_pricing is not understood")
    extra = {field.dimension: field.rate for field in fields}
    tiers, expected = [], 0
    for one in ranges:
        low, high = _range(one)
        if low != expected:
            raise UnclearPriceError("tiered_pricing has ranges that don't follow each other")
        tiers.append(Tier(low, {**extra, **_range_rates(one)}))
        expected = high
    if any(tier.rates.keys() != tiers[0].rates.keys() for tier in tiers):
        raise UnclearPriceError("tiered_pricing prices other things in other tiers")
    return tuple(tiers)


def _range(one: Any) -> tuple[int, int]:
    """Its bounds: the last range may be without an upper one."""
    bounds = one.get("range") if isinstance(one, dict) else None
    match [_whole(bound) for bound in bounds] if isinstance(bounds, list) else None:
        case [int(low)]:
            return low, low
        case [int(low), int(high)]:
            return low, high
    raise UnclearPriceError("tiered_pricing has a range that is not understood")


def _whole(bound: Any) -> int | None:
    number = isinstance(bound, (int, Decimal)) and not isinstance(bound, bool)
    return int(bound) if number and bound == int(bound) else None


def _range_rates(one: Mapping[str, Any]) -> Rates:
    rates: dict[str, Rate] = {}
    for key, value in one.items():
        if key == "range" or (is_price(key) and not stated(key, value)):
            continue
        if key not in TOKENS:
            raise UnclearPriceError(f"tiered_pricing: {key} is not understood")
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            raise UnclearPriceError(f"tiered_pricing: {key} is not a number")
        rates[TOKENS[key]] = Field(TOKENS[key], Decimal(value), 1).rate
    return rates
