"""A reservation with its timeline."""

from datetime import datetime
from typing import Any, Literal

from service.api.answers.base import Answer, Named
from service.api.values import Amount, Amounts

__all__ = ["Reservation", "ReservationLine", "TimelineEvent"]


class ReservationLine(Answer):
    """What a reservation holds, or held, on one budget window."""

    budget: str
    scope: str
    unit: str
    window: str
    state: str
    held: Amount
    settled: Amount | None


class TimelineEvent(Answer):
    """One thing that happened to a reservation."""

    at: datetime
    event: str
    actor: str | None
    detail: Any


class Reservation(Named):
    """A reservation, its lines and its whole timeline."""

    call: Literal["reserve", "charge"]
    decision: Literal["authorized", "denied"]
    state: str
    model: str | None
    chosen_alternative: int | None
    price_table_id: int | None
    price_table_ids: list[int]
    """One a unit that was priced."""
    max_usage: dict[str, Amount] | None
    amounts: Amounts | None
    lines: list[ReservationLine]
    created_at: datetime
    expires_at: datetime | None
    on_expiry: str | None
    session_id: str | None
    labels: dict[str, str] | None
    denial: dict[str, Any] | None
    settlement: dict[str, Any] | None
    timeline: list[TimelineEvent]
