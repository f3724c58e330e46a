"""What the ledger takes and hands out beside answers."""

from datetime import datetime
from typing import Literal, NamedTuple, get_args

__all__ = ["CALLS", "Alert", "Call", "Item", "KeyRecord", "StuckHolds"]

Call = Literal["reserve", "settle", "release", "extend", "cancel", "charge", "resolve"]
CALLS: tuple[Call, ...] = get_args(Call)
"""The writes of the contract's section 2: batches, idempotent by request_id."""


class Item(NamedTuple):
    """One call to make: the JSON text of its body, and whose it is, if known."""

    text: str
    account_id: str | None


class KeyRecord(NamedTuple):
    """A live API key: its id, its role, and the root of the subtree it is bound to."""

    key_id: str
    role: str
    account_id: str | None


class Alert(NamedTuple):
    """A message of the outbox that somebody is to be told; ``body`` is JSON text."""

    message_id: int
    topic: str
    body: str
    created_at: datetime


class StuckHolds(NamedTuple):
    """How many holds of a state time will not end, and how long ago the oldest was decided."""

    state: str
    holds: int
    oldest_seconds: int
