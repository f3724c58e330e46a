"""Price tables on their way to the ledger, whatever list they come from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from service.pricing.rates import Rate

__all__ = [
    "VARIANTS",
    "Catalogue",
    "Skipped",
    "Table",
    "Tier",
    "name_fault",
    "split_variant",
    "with_variant",
]

VARIANTS: Final = ("batch", "flex", "priority")
_NAME: Final = re.compile(r"[A-Za-z0-9_.:@/-]{1,128}")


class Tier(NamedTuple):
    """The rates for a whole request whose input is more than ``above`` tokens."""

    above: int
    rates: Mapping[str, Rate]


@dataclass(frozen=True, slots=True)
class Table:
    """What `publish_price_table` takes; ``effective_from`` None: now."""

    model: str
    variant: str | None
    tiers: tuple[Tier, ...]
    source: str
    effective_from: datetime | None = None
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What a reservation says as its model."""
        return with_variant(self.model, self.variant)

    def body(self) -> dict[str, Any]:
        """The body of the call."""
        body: dict[str, Any] = {"model": self.model, "source": self.source}
        if self.variant:
            body["variant"] = self.variant
        if self.effective_from:
            body["effective_from"] = self.effective_from.isoformat()
        if self.aliases:
            body["aliases"] = list(self.aliases)
        return {**body, **_priced(self.tiers)}


class Skipped(NamedTuple):
    """A price that is not taken, or taken without a part of it, and why."""

    name: str
    reason: str


@dataclass
class Catalogue:
    """What a price list holds: tables, and what was skipped or left out of one."""

    tables: list[Table] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    left_out: list[Skipped] = field(default_factory=list)


def name_fault(name: str) -> str | None:
    """Why a model can't be called so; None if it can."""
    if not _NAME.fullmatch(name):
        return "its name has characters, or a length, that a model name can't have"
    return None


def with_variant(model: str, variant: str | None) -> str:
    """The name of a variant: ``openai/gpt-5:batch``."""
    return f"{model}:{variant}" if variant else model


def split_variant(name: str) -> tuple[str, str | None]:
    """A name that ends in a variant: the model and the variant."""
    model, _, last = name.rpartition(":")
    return (model, last) if model and last in VARIANTS else (name, None)


def _priced(tiers: tuple[Tier, ...]) -> dict[str, Any]:
    if len(tiers) == 1:
        return {"rates": _rates(tiers[0].rates)}
    return {"tiers": [{"above_input_tokens": t.above, "rates": _rates(t.rates)} for t in tiers]}


def _rates(rates: Mapping[str, Rate]) -> dict[str, dict[str, int]]:
    return {name: rate._asdict() for name, rate in sorted(rates.items())}
