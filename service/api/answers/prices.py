"""Price tables, and spend priced anew."""

from datetime import datetime
from typing import Literal

from service.api.answers.base import Answer
from service.api.values import Amount

__all__ = [
    "AccountRerating",
    "PriceTable",
    "PublishedPriceTable",
    "RateAnswer",
    "Rerating",
    "TierAnswer",
]


class RateAnswer(Answer):
    """What so many (``per``) of a dimension cost."""

    micro_usd: Amount | None = None
    amount: Amount | None = None
    per: Amount
    required: bool


class TierAnswer(Answer):
    """Rates for calls with more input tokens than that."""

    above_input_tokens: Amount
    rates: dict[str, RateAnswer]


class PriceTable(Answer):
    """Rates of one model in one unit, from an instant on; or an alias."""

    price_table_id: int
    name: str
    """What a request says as its model."""
    model: str
    variant: Literal["batch", "flex", "priority"] | None
    unit: str
    effective_from: datetime
    alias_of: str | None
    """For an alias: the name that it stands for; it has no rates of its own."""
    rates: dict[str, RateAnswer] | None
    tiers: list[TierAnswer] | None
    """Instead of rates, where there is more than one tier."""
    source: str | None
    aliases: list[str]
    published_at: datetime
    published_by: str


class PublishedPriceTable(PriceTable):
    """The table as it is in effect from then on."""

    replayed: bool
    """It had been published already."""


class AccountRerating(Answer):
    """What a rerating changes for an account."""

    account_id: str
    events: int
    before: int
    after: int
    difference: int
    """Below 0: it was charged too much."""


class Rerating(Answer):
    """What spend cost by the wrong table and what it costs by the right one, in their unit."""

    wrong_table: int
    right_table: int
    unit: str
    since: datetime
    until: datetime
    confirmed: bool
    """Whether the adjustments were written."""
    events: int
    before: int
    after: int
    difference: int
    accounts: list[AccountRerating]
