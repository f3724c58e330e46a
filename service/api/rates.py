"""Rates, and what they are rates of."""

from typing import Annotated

from pydantic import Field

from service.api.values import MAX_AMOUNT, Amount, Body, Dimension

__all__ = ["Rate", "Rates", "Tier"]


class Rate(Body):
    """What so many of a dimension cost. Whole numbers only: nothing is ever rounded here."""

    micro_usd: Amount | None = None
    """In 10⁻⁶ USD: the figure of a price page times a million. For tables in usd_nano."""
    amount: Amount | None = None
    """In the table's own unit, for tables in any other."""
    per: Annotated[int, Field(strict=True, ge=1, le=MAX_AMOUNT)]
    """For so many; 1000000 where a price page says "per million"."""
    required: bool | None = None
    """Whether max_usage must bound it; true for input_tokens and output_tokens unless free."""


Rates = Annotated[
    dict[Dimension, Rate],
    Field(
        min_length=1,
        max_length=64,
        examples=[{"input_tokens": {"micro_usd": 1250000, "per": 1000000}}],
        json_schema_extra={"additionalProperties": False},
    ),
]


class Tier(Body):
    """Rates for every token of a call with more input than that: a cliff, no marginal bracket."""

    above_input_tokens: Amount
    rates: Rates
