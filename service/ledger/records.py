"""What the ledger takes and hands out beside answers."""

from datetime import datetime
from typing import NamedTuple

__all__ = ["Alert", "Item", "KeyRecord", "StuckHolds"]


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
