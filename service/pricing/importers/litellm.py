"""LiteLLM's list, ``model_prices_and_context_window.json``, read from its text."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from service.pricing.importers.litellm_fields import (
    ITEMS,
    SEARCH,
    Field,
    LeftOut,
    UnclearPriceError,
    classify,
    is_price,
    stated,
)
from service.pricing.importers.litellm_tiers import add_rate, tiered, tiers_of, varied
from service.pricing.rates import InexactRateError, Rate
from service.pricing.tables import (
    VARIANTS,
    Catalogue,
    Skipped,
    Table,
    Tier,
    name_fault,
    split_variant,
)
from service.text import HALF_A_PAIR, is_text, printable

__all__ = ["NotAPriceListError", "catalogue"]

Rates = Mapping[str, Rate]

_PROVIDER_KIND: Final = re.compile(r"-[a-z0-9-]*(?:_|-)models$")
_PER_ITEM: Final = frozenset(ITEMS.values())

_LIKE: Final[Mapping[str, tuple[str, ...]]] = {
    "cached_input_tokens": ("input_tokens",),
    "input_audio_tokens": ("input_tokens",),
    "cached_input_audio_tokens": ("input_audio_tokens", "cached_input_tokens"),
    "input_image_tokens": ("input_tokens",),
    "cached_input_image_tokens": ("input_image_tokens", "cached_input_tokens"),
    "input_video_tokens": ("input_tokens",),
    "cached_input_video_tokens": ("input_video_tokens", "cached_input_tokens"),
    "reasoning_tokens": ("output_tokens",),
}
"""Where the list says nothing of these, it means the price of what they are a part of.

Of cached audio, say, that is cached input, unless audio has a price of its own: then that one.
"""


class NotAPriceListError(ValueError):
    """The file isn't the list, or not a sound one."""

    def __init__(self, why: str) -> None:
        super().__init__(printable(why))


def catalogue(file: Path) -> Catalogue:
    """Every model of the file.

    Raises:
        NotAPriceListError: it can't be read as the list.
        OSError: it can't be read.
    """
    found = Catalogue()
    entries = _load(file)
    source = f"LiteLLM {file.name}"[:256]
    taken: dict[str, str] = {}
    aliases: dict[str, list[str]] = {}
    for key, entry in entries.items():
        target = entry.get("alias_of")
        if isinstance(target, str) and target in entries:
            aliases.setdefault(_name(target, entries[target]), []).append(key)
        elif any(is_price(field) for field in entry) and key != "sample_spec":
            _add(found, key, entry, source, taken)
    found.tables = [
        replace(table, aliases=_free(aliases.get(table.model, ()), taken)) for table in found.tables
    ]
    return found


def _load(file: Path) -> dict[str, dict[str, Any]]:
    try:
        entries = json.loads(
            file.read_text("utf-8"), parse_float=Decimal, object_pairs_hook=_unique
        )
    except NotAPriceListError:
        raise
    except (ValueError, RecursionError) as error:
        raise NotAPriceListError(f"it is not JSON: {error}") from None
    if not isinstance(entries, dict):
        raise NotAPriceListError("it must be an object of objects, by model")
    for key, entry in entries.items():
        if not all(map(is_text, _texts([key, entry]))):
            raise NotAPriceListError(f"{key} has {HALF_A_PAIR} in its text, which is no character")
        if not isinstance(entry, dict):
            raise NotAPriceListError(f"{key} must be an object")
    return entries


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, names too, however deep it is."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            waiting += [*found, *found.values()]
        elif isinstance(found, list):
            waiting += found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise NotAPriceListError(f"{name} appears twice")
        found[name] = value
    return found


def _name(key: str, entry: Mapping[str, Any]) -> str:
    """The provider and the model: ``openai/gpt-5``."""
    provider = _PROVIDER_KIND.sub("", str(entry.get("litellm_provider") or ""))
    return key if not provider or key.startswith(f"{provider}/") else f"{provider}/{key}"


def _free(names: list[str] | tuple[str, ...], taken: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(n for n in names if n not in taken and name_fault(n) is None)


def _add(
    found: Catalogue, key: str, entry: Mapping[str, Any], source: str, taken: dict[str, str]
) -> None:
    name = _name(key, entry)
    fault = name_fault(name) or (name in taken and f"the entry {taken[name]} has the same name")
    if fault:
        found.skipped.append(Skipped(name, fault))
        return
    taken[name] = key
    try:
        found.tables += _tables(name, entry, source, found)
    except (UnclearPriceError, InexactRateError) as error:
        found.skipped.append(Skipped(name, str(error)))


def _tables(name: str, entry: Mapping[str, Any], source: str, found: Catalogue) -> list[Table]:
    fields = list(_fields(name, entry, found))
    standard = _standard(entry, [f for f in fields if f.variant is None])
    model, own_variant = split_variant(name)
    tables = [Table(model, own_variant, _completed(standard), source)]
    for variant in VARIANTS if own_variant is None else ():
        own = [f for f in fields if f.variant == variant]
        try:
            if own:
                tables.append(Table(model, variant, _completed(varied(standard, own)), source))
        except UnclearPriceError as error:
            found.skipped.append(Skipped(f"{name}:{variant}", str(error)))
    return tables


def _fields(name: str, entry: Mapping[str, Any], found: Catalogue) -> Iterator[Field]:
    left_out: dict[str, None] = {}
    for key, value in entry.items():
        if not is_price(key) or key == "tiered_pricing" or not stated(key, value):
            continue
        if key == "output_cost_per_image" and "output_cost_per_image_token" in entry:
            continue  # the same price again, for an image of the usual size
        if key == SEARCH and "search_free_requests" in entry:
            left_out[f"{key}: some are free, so that searches are refused"] = None
            continue
        field = classify(key, value, str(entry.get("mode")))
        if isinstance(field, LeftOut):
            left_out[field.reason] = None
        else:
            yield field
    found.left_out += [Skipped(name, reason) for reason in left_out]


def _standard(entry: Mapping[str, Any], fields: list[Field]) -> tuple[Tier, ...]:
    if "tiered_pricing" in entry:
        return tiered(entry["tiered_pricing"], fields)
    rates: dict[tuple[str, int], Rate] = {}
    for field in fields:
        add_rate(rates, field)
    if not rates:
        raise UnclearPriceError("it has no price")
    _refuse_items_beside_tokens(rates)
    return tiers_of(rates)


def _refuse_items_beside_tokens(rates: Mapping[tuple[str, int], Rate]) -> None:
    """An item's price beside a token's: what is billed by which isn't said."""
    items = [name for name, _ in rates if name in _PER_ITEM]
    tokens = any(rate.micro_usd for (name, _), rate in rates.items() if name not in _PER_ITEM)
    if items and tokens:
        raise UnclearPriceError(f"it is priced by {items[0]} and by tokens or calls")


def _completed(tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
    return tuple(Tier(tier.above, _with_parts(tier.rates)) for tier in tiers)


def _with_parts(rates: Rates) -> Rates:
    completed = dict(rates)
    for part, wholes in _LIKE.items():
        whole = next((name for name in wholes if name in rates), wholes[-1])
        if part not in completed and whole in completed:
            completed[part] = completed[whole]
    return completed
