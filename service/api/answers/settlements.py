"""What ``settle``, ``release``, ``extend`` and ``cancel`` answer with."""

from datetime import datetime
from typing import Literal

from service.api.answers.base import Answer, Cost, Named
from service.api.answers.decisions import Line
from service.api.values import Amount, Amounts

__all__ = ["Cancellation", "Extension", "Release", "SettledLine", "Settlement"]


class SettledLine(Answer):
    """What a settlement did to one budget window."""

    budget: str
    scope: str
    unit: str
    window: str
    held: Amount
    amount: Amount
    overage: Amount
    settled: int | None = None
    """Below 0 after corrections."""
    reserved: int | None = None
    available: int | None = None


class Settlement(Named):
    """The hold is replaced by what was spent. Outcome ``unknown`` keeps the hold instead."""

    state: Literal["settled", "unknown"]
    outcome: Literal["completed", "interrupted", "unknown"] | None
    amounts: Amounts | None = None
    usage: dict[str, Amount] | None = None
    cost: Cost | None = None
    """Of usage that was priced."""
    price_table_id: int | None = None
    """By which it was priced."""
    lines: list[SettledLine] | None = None
    overage: dict[str, Amount] | None = None
    """How much more than held was spent, by unit; what no bound was asked for is all of it more."""
    late: bool | None = None
    """The hold had lapsed or had been released."""
    settled_at: datetime | None = None
    expires_at: datetime | None = None
    replayed: bool
    resolved: bool | None = None
    action: str | None = None
    """With ``resolved``: what the person decided."""


class Release(Named):
    """The hold went back."""

    state: Literal["released"]
    reason: str
    lines: list[Line]
    released_at: datetime
    replayed: bool
    resolved: bool | None = None
    action: str | None = None
    """With ``resolved``: what the person decided."""


class Extension(Named):
    """The hold lasts longer."""

    state: str
    expires_at: datetime
    replayed: bool


class Cancellation(Named):
    """The wish to stop was recorded; the hold stays until it is settled."""

    state: str
    expires_at: datetime | None
    replayed: bool
