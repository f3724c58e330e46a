"""What calls answer with. The ledger writes these bodies; the models are for the document."""

from datetime import date, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.api.values import Amount, Amounts

__all__ = [
    "Authorization",
    "Balance",
    "Cancellation",
    "Charge",
    "Denial",
    "Extension",
    "PriceTable",
    "Problem",
    "PublishedPriceTable",
    "Release",
    "Rerating",
    "Reservation",
    "Settlement",
]


class Answer(BaseModel):
    """A body that the service sends."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Named(Answer):
    """Every answer to a call names the reservation that it is about."""

    request_id: str
    account_id: str


Cost = dict[str, dict[str, Amount]]
"""By unit and dimension: whole numbers that add up to the amount of the unit."""


class Line(Answer):
    """What is held on one budget window."""

    budget: str
    scope: str
    """The account that owns the window."""
    unit: str
    window: str
    amount: Amount
    available: int | None = None
    """What is left after it: only on the account's own windows; null if unlimited."""


class Authorization(Named):
    """Go ahead: the amounts are held on every budget that applies."""

    decision: Literal["authorized"]
    state: str
    model: str | None
    chosen_alternative: int | None
    """null: the request itself; else the index of the alternative that fitted."""
    price_table_id: int | None
    lines: list[Line]
    expires_at: datetime | None
    over_limit: bool
    """A soft or observed budget of the account's own is above its limit."""
    replayed: bool
    """This request_id was answered before, so."""
    dry_run: bool | None = None
    """true: nothing was written."""


class Charge(Authorization):
    """Checked and spent in one step."""

    recorded: bool
    """It had happened already: recorded, whatever the budgets said."""
    cost: Cost | None = None
    """Of usage or max_usage that was priced."""


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


class Fault(Answer):
    """One thing wrong with a request."""

    path: str
    """Where: dotted, as in ``alternatives.0.amounts.tokens``; ``query.`` and ``header.`` too."""
    message: str


class Problem(Answer):
    """Problem details (RFC 9457). ``type`` ends in one of the codes of docs/errors.md."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    type: str
    title: str
    status: int
    detail: str
    errors: list[Fault] | None = None
    """With ``malformed``: what is wrong where."""


class Denial(Problem):
    """The budget does not allow it. A decision is final for its request_id."""

    request_id: str
    account_id: str
    decision: Literal["denied"]
    reason: Literal[
        "budget_exhausted",
        "exceeds_limit",
        "too_many_holds",
        "account_unknown",
        "account_suspended",
        "no_budget",
    ]
    budget: str | None = None
    scope: str | None = None
    window: str | None = None
    unit: str | None = None
    limit: Amount | None = None
    required: Amount | None = None
    available: int | None = None
    """Only for the account's own windows."""
    retry_after_ms: int | None = None
    """The earliest time at which this request fits if nothing else is spent; null: never."""
    resets_at: datetime | None = None
    affordable: dict[str, Amount] | None = None
    """The largest output bound that would fit now, by dimension; of amounts, the amount that
    would. null: none; left out for shared windows."""
    replayed: bool


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


class RetiredBudget(Answer):
    """A budget that applies no more; its history stays."""

    account_id: str
    name: str
    retired_at: datetime


class KeyAnswer(Answer):
    """An API key, without its secret."""

    key_id: str
    name: str
    role: Literal["spend", "audit", "admin"]
    account_id: str | None
    """The subtree a spend key is bound to."""
    created_at: datetime
    revoked_at: datetime | None = None


class NewKey(KeyAnswer):
    """An API key with its secret, which is never shown again."""

    secret: str = Field(examples=["preauth_3q2-7w..."])


class Health(Answer):
    """Whether the process, or all it needs, is well."""

    status: Literal["ok"]
