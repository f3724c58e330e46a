"""The prices that are installed with `genai_prices`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.metadata import version
from typing import Final

from genai_prices.data import providers
from genai_prices.types import (
    ClauseEquals,
    ClauseOr,
    ConditionalPrice,
    MatchLogic,
    ModelInfo,
    ModelPrice,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
)

from service.pricing.dimensions import DIMENSIONS, REGISTRY, nearest
from service.pricing.rates import InexactRateError, Rate, rate_of
from service.pricing.tables import Catalogue, Skipped, Table, Tier, name_fault, split_variant

__all__ = ["catalogue", "standing_price", "tiers_of"]

Price = Decimal | TieredPrices
Prices = Mapping[str, Price]
"""By the usage key of `genai_prices`."""

_VARIANTS: Final[Mapping[tuple[tuple[str, str], ...], str]] = {
    (("processing", "batch"),): "batch",
    (("service_tier", "flex"),): "flex",
    (("service_tier", "priority"),): "priority",
}

_STANDARD: Final = (("service_tier", "default"),)

_PRICED_AS_A_WHOLE: Final = (
    "cache_read_tokens",
    "input_audio_tokens",
    "cache_audio_read_tokens",
    "input_image_tokens",
    "cache_image_read_tokens",
    "input_video_tokens",
    "cache_video_read_tokens",
    "output_reasoning_tokens",
    "input_audio_seconds",
    "output_audio_seconds",
)
"""Where a price list says nothing of these, it means the price of what they are a part of."""

_ONLY_A_WHOLE: Final = frozenset({"audio_seconds"})
"""Priced, but counted only by its parts."""


class UnclearPriceError(ValueError):
    """A price that tables can't express."""


def catalogue(now: datetime | None = None) -> Catalogue:
    """Every model: what it costs now, and from each later date that is known."""
    found = Catalogue()
    source = f"genai-prices {version('genai-prices')}"
    today = (now or datetime.now(UTC)).date()
    aliases = _aliases()
    for provider in providers:
        for model in provider.models:
            name = f"{provider.id}/{model.id}"
            try:
                tables = list(_tables(name, model, today, source, found))
            except (UnclearPriceError, InexactRateError) as error:
                found.skipped.append(Skipped(name, str(error)))
            else:
                found.tables += _with_aliases(tables, aliases.get(name, ()))
    return found


def _tables(
    name: str, model: ModelInfo, today: date, source: str, found: Catalogue
) -> Iterator[Table]:
    if fault := name_fault(name):
        raise UnclearPriceError(fault)
    base, own_variant = split_variant(name)
    _refuse_times_of_day(model)
    for start, tiers in _versions(model, today, None):
        yield Table(base, own_variant, tiers, source, start)
    for variant, context in _variants(model, name, found):
        for start, tiers in _versions(model, today, context):
            if own_variant is None:
                yield Table(base, variant, tiers, source, start)


def _versions(
    model: ModelInfo, today: date, context: Mapping[str, str] | None
) -> Iterator[tuple[datetime | None, tuple[Tier, ...]]]:
    """What stands today, and each later change."""
    before: tuple[Tier, ...] | None = None
    for day in [None, *_changes(model, today)]:
        prices = standing_price(model, day or today, context)
        tiers = tiers_of(prices) if prices else before
        if tiers and tiers != before:
            yield datetime.combine(day, time(), UTC) if day else None, tiers
        before = tiers


def _changes(model: ModelInfo, after: date) -> list[date]:
    constraints = [c.constraint for c in _conditional(model)]
    constraints += [v.constraint for v in model.price_variants or ()]
    days = {c.start_date for c in constraints if isinstance(c, StartDateConstraint)}
    return sorted(day for day in days if day > after)


def _conditional(model: ModelInfo) -> list[ConditionalPrice]:
    prices = model.prices
    return [ConditionalPrice(prices=prices)] if isinstance(prices, ModelPrice) else prices


def standing_price(
    model: ModelInfo, day: date, context: Mapping[str, str] | None = None
) -> Prices | None:
    """What a model costs on a day; None when it has no price of that variant then."""
    at = datetime.combine(day, time(), UTC)
    if not _conditional(model):
        raise UnclearPriceError("it has no price")
    if context is not None and not _offered(model, at, context):
        return None
    return _by_usage_key(model.get_prices(at, context))


def _offered(model: ModelInfo, at: datetime, context: Mapping[str, str]) -> bool:
    return any(
        variant.when == context and (variant.constraint is None or variant.constraint.active(at))
        for variant in model.price_variants or ()
    )


def _by_usage_key(prices: ModelPrice) -> Prices:
    found: dict[str, Price] = {}
    for price_key, value in vars(prices).items():
        if value is None:
            continue
        try:
            unit = REGISTRY.unit_for_price_key(price_key)
        except KeyError:
            raise UnclearPriceError(f"{price_key} is not known") from None
        found[unit.usage_key] = value
    if not found:
        raise UnclearPriceError("it has no price")
    return found


def tiers_of(prices: Prices) -> tuple[Tier, ...]:
    """The rates of every tier: a tier's price is for every token of the request.

    Raises:
        UnclearPriceError: something is priced that no dimension counts.
        InexactRateError: a price has more digits than a rate can hold.
    """
    for key in prices:
        if key not in DIMENSIONS and key not in _ONLY_A_WHOLE:
            raise UnclearPriceError(f"it is priced by {key}, which no dimension counts")
    starts = {t.start for p in prices.values() if isinstance(p, TieredPrices) for t in p.tiers}
    if 0 in starts:
        raise UnclearPriceError("a tier begins at 0")
    return tuple(Tier(above, _rates_above(prices, above)) for above in [0, *sorted(starts)])


def _rates_above(prices: Prices, above: int) -> dict[str, Rate]:
    rates: dict[str, Rate] = {}
    for key, dimension in DIMENSIONS.items():
        priced = nearest(key, prices) if key in _PRICED_AS_A_WHOLE else key
        if priced is not None and priced in prices:
            rates[dimension] = rate_of(
                _price_above(prices[priced], above), REGISTRY.units[priced].per
            )
    return rates


def _price_above(price: Price, above: int) -> Decimal:
    if isinstance(price, Decimal):
        return price
    reached = [tier for tier in price.tiers if tier.start <= above]
    return max(reached, key=lambda tier: tier.start).price if reached else price.base


def _refuse_times_of_day(model: ModelInfo) -> None:
    constraints = [c.constraint for c in _conditional(model)]
    constraints += [v.constraint for v in model.price_variants or ()]
    if any(isinstance(c, TimeOfDateConstraint) for c in constraints):
        raise UnclearPriceError("its price depends on the time of day")


def _variants(
    model: ModelInfo, name: str, found: Catalogue
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The variants with a name here; of the others, a note."""
    for when in sorted({tuple(sorted(v.when.items())) for v in model.price_variants or ()}):
        if when in _VARIANTS:
            yield _VARIANTS[when], dict(when)
        elif when != _STANDARD:
            what = ", ".join(f"{key}={value}" for key, value in when)
            found.left_out.append(Skipped(name, f"{what} is not batch, flex or priority"))


def _aliases() -> dict[str, tuple[str, ...]]:
    """The other exact names of each model, where they are no one else's."""
    own = {f"{p.id}/{m.id}" for p in providers for m in p.models}
    claims = [
        (f"{p.id}/{alias}", f"{p.id}/{m.id}")
        for p in providers
        for m in p.models
        for alias in set(_equals(m.match))
    ]
    times = Counter(alias for alias, _ in claims)
    found: dict[str, list[str]] = {}
    for alias, model in sorted(claims):
        if times[alias] == 1 and alias not in own and name_fault(alias) is None:
            found.setdefault(model, []).append(alias)
    return {model: tuple(names) for model, names in found.items()}


def _equals(match: MatchLogic) -> Iterable[str]:
    if isinstance(match, ClauseEquals):
        return [match.equals]
    if isinstance(match, ClauseOr):
        return [name for clause in match.or_ for name in _equals(clause)]
    return []


def _with_aliases(tables: list[Table], aliases: tuple[str, ...]) -> list[Table]:
    """The aliases go with the first version of each name: they follow the later ones."""
    plain = tuple(alias for alias in aliases if split_variant(alias)[1] is None)
    seen, found = set[str](), []
    for table in tables:
        first = plain and table.name not in seen
        seen.add(table.name)
        found.append(_aliased(table, plain) if first else table)
    return found


def _aliased(table: Table, aliases: tuple[str, ...]) -> Table:
    return Table(
        table.model, table.variant, table.tiers, table.source, table.effective_from, aliases
    )
