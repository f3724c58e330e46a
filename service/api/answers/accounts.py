"""Plans, budgets and accounts, and what is corrected and raised."""

from datetime import date, datetime
from typing import Any, Literal

from pydantic import Field

from service.api.answers.base import Answer
from service.api.values import Amount

__all__ = [
    "AccountAnswer",
    "BudgetAnswer",
    "CorrectionAnswer",
    "EndedRaise",
    "PlanAnswer",
    "RaiseAnswer",
    "RetiredBudget",
]


class BudgetAnswer(Answer):
    """A budget as it stands."""

    name: str
    unit: str
    window: dict[str, Any]
    limit_amount: Amount | None
    model: str | None = None
    enforcement: Literal["hard", "soft", "observe"] = "hard"
    overdraft_amount: Amount | None = None
    overage: Literal["charge", "reject"] = "charge"
    on_expiry: Literal["keep", "release", "charge"] = "keep"
    rollover: dict[str, Any] | None = None
    thresholds: list[int] = Field(default_factory=list)
    """Percentages of the limit that are told when they are reached."""


class PlanAnswer(Answer):
    """A plan with its budgets."""

    plan_id: str
    budgets: list[BudgetAnswer]
    unpriced: Literal["refuse", "count_only"]
    created_at: datetime


class AccountAnswer(Answer):
    """An account."""

    account_id: str
    plan_id: str | None
    parent_id: str | None
    path: list[str]
    """The account, its parent, and so on up to the root."""
    time_zone: str
    cycle_anchor: date | None
    status: Literal["active", "suspended"]
    max_open_holds: int | None
    created_at: datetime
    budgets: list[BudgetAnswer] | None = None
    """Its own budgets; those of its plan apply too."""
    next_plan_id: str | None = None
    """The plan to come, while a change is scheduled."""
    plan_changes_at: datetime | None = None
    """When it begins."""


class RetiredBudget(Answer):
    """A budget that applies no more; its history stays."""

    account_id: str
    name: str
    retired_at: datetime


class CorrectionAnswer(Answer):
    """An adjustment, and the window's figures after it."""

    account_id: str
    budget: str
    unit: str
    window: str
    amount: int
    """What was added to settled."""
    limit: Amount | None
    settled: int
    reserved: int
    available: int | None
    reason: str
    idempotency_key: str | None
    adjusted_at: datetime
    replayed: bool
    """This idempotency_key was answered before, so."""


class RaiseAnswer(Answer):
    """A temporary raise."""

    account_id: str
    budget: str
    amount: Amount
    expires_at: datetime


class EndedRaise(RaiseAnswer):
    """A raise that was ended before its time."""

    ended_at: datetime
