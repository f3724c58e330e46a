"""The windows of an account."""

from datetime import datetime
from typing import Literal

from service.api.answers.base import Answer
from service.api.values import Amount

__all__ = ["Balance", "Window"]


class Window(Answer):
    """One current budget window."""

    budget: str
    scope: str
    unit: str
    model: str | None
    window: str
    enforcement: Literal["hard", "soft", "observe"]
    limit: Amount | None
    """null: unlimited."""
    settled: int | None = None
    """Below 0 where more was given back than was spent."""
    reserved: int | None = None
    available: int | None = None
    """limit - settled - reserved; below 0 after the limit was lowered."""
    starts_at: datetime | None
    """null: it has no beginning (lifetime, rolling), or it has not begun (fixed)."""
    ends_at: datetime | None
    resets_at: datetime | None
    """Its end; null where it has none: a rolling window frees what has aged out bit by bit."""
    time_zone: str


class Balance(Answer):
    """Every current window of an account. Shared ones have no fill level, but for auditors."""

    account_id: str
    as_of: datetime
    windows: list[Window]
