"""What the audit answers with. The ledger writes these bodies; the models are for the document."""

from datetime import date, datetime
from typing import Any, Literal

from pydantic import BaseModel

from service.api.answers.base import Answer, Named
from service.api.values import Amount, Amounts

__all__ = [
    "Adjustments",
    "Changes",
    "Decisions",
    "Exceptions",
    "PricesInUse",
    "Spend",
    "StuckHolds",
    "Timeline",
    "Verification",
    "WhyDenied",
    "columns",
]


def columns(model: type[BaseModel]) -> list[str]:
    """The columns of a list as CSV: the fields of its items."""
    (item,) = model.model_fields["items"].annotation.__args__  # type: ignore[union-attr]
    return list(item.model_fields)


class Page(Answer):
    """A page of a list."""

    next_cursor: str | None
    """Where the next page begins; null on the last one."""


class Decision(Named):
    """A request and what was decided."""

    call: Literal["reserve", "charge"]
    decision: Literal["authorized", "denied"]
    state: str
    reason: str | None
    """Of a denial."""
    budget: str | None
    scope: str | None
    model: str | None
    amounts: Amounts | None
    settled: dict[str, Amount] | None
    created_at: datetime
    expires_at: datetime | None
    session_id: str | None
    labels: dict[str, str]
    actor: str


class Decisions(Page):
    """Decisions, the newest first."""

    items: list[Decision]


class Step(Answer):
    """One thing that happened to a reservation."""

    at: datetime
    event: str
    actor: str | None
    amounts: dict[str, Any] | None
    overage: dict[str, Any] | None
    detail: dict[str, Any] | None


class Timeline(Named):
    """Everything that happened to a reservation, in order."""

    state: str
    items: list[Step]


class OpenHold(Named):
    """A hold that was open when a request was denied."""

    amount: Amount
    held_at: datetime
    closed_at: datetime | None
    """When it stopped counting; null while it counts."""
    state: str


class WhyDenied(Named):
    """A denial with the rows that proved it."""

    at: datetime
    amounts: Amounts | None
    denial: dict[str, Any]
    """As it was decided: limit, settled, reserved, available, required."""
    window: dict[str, Any] | None
    """The window as it is now."""
    items: list[OpenHold]
    """The holds that used the room at that instant, the newest first."""
    items_amount: int
    held_by_others: int | None
    """What was reserved and is not among the items."""


class StuckHold(Named):
    """A hold that time will not end."""

    state: str
    model: str | None
    age_seconds: int
    created_at: datetime
    expires_at: datetime | None
    actor: str
    held: dict[str, Amount]
    refused: dict[str, Amount] | None
    """In overage_review: the settlement that was refused."""


class StuckHolds(Page):
    """Holds that a person must end, the oldest first."""

    items: list[StuckHold]


class Exceptional(Named):
    """Spend that was not as authorized."""

    at: datetime
    late: bool
    recorded: bool
    amounts: dict[str, Amount]
    overage: dict[str, Amount]
    outcome: str | None
    provider_request_id: str | None
    actor: str
    reason: str | None


class Exceptions(Page):
    """Overages, late settlements and recorded spend, the newest first."""

    items: list[Exceptional]


class Adjustment(Answer):
    """A correction of a window."""

    at: datetime
    account_id: str
    kind: Literal["adjustment", "limit_changed"]
    key: str
    budget: str | None
    unit: str | None
    window: str | None
    amount: int | None
    limit_before: Amount | None
    limit_after: Amount | None
    actor: str
    reason: str | None


class Adjustments(Page):
    """Corrections of what is settled and of limits, the newest first."""

    items: list[Adjustment]


class Change(Answer):
    """A change of a plan, an account, a budget, a key."""

    change_id: int
    at: datetime
    subject: str
    subject_id: str
    actor: str
    reason: str | None
    before: Any
    after: Any


class Changes(Page):
    """Who changed what, the newest first."""

    items: list[Change]


class Spent(Answer):
    """What was spent, summed."""

    day: date | None
    account_id: str | None
    model: str | None
    label: str | None
    unit: str
    amount: int
    events: int


class Spend(Page):
    """Spend by what was asked for."""

    items: list[Spent]


class Mismatch(Answer):
    """Something that does not add up: a page for the owner."""

    check_name: str
    account_id: str | None
    window_id: int | None
    request_id: str | None
    expected: str | None
    actual: str | None


class PricesUsed(Answer):
    """A price table, and how much it priced."""

    price_table_id: int
    name: str
    unit: str
    effective_from: datetime
    source: str | None
    reservations: int
    settled: int
    first_used_at: datetime
    last_used_at: datetime


class PricesInUse(Page):
    """Which price tables priced what was asked for."""

    items: list[PricesUsed]


class Verification(Answer):
    """Whether the whole ledger adds up."""

    consistent: bool
    items: list[Mismatch]
