"""What ``reserve`` and ``charge`` answer with: an authorization, a denial, a refusal."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict

from service.api.answers.base import Answer, Cost, Named
from service.api.values import Amount

__all__ = ["Authorization", "Charge", "Denial", "Fault", "Line", "Problem"]


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
