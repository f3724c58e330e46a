"""PUT and DELETE /accounts/{account_id}/budgets/{name}: an account's own limits."""

import re
from typing import Annotated, Any, Literal

from litestar import Response, delete, put
from litestar.params import FromPath, RawBody
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from service.api.admin import checked, no_body
from service.api.answers.accounts import BudgetAnswer, RetiredBudget
from service.api.calls import AnyRequest, answer, ledger_of
from service.api.operation import ADMIN, Operation, Parameter
from service.api.paths import path_id, path_name
from service.api.problems import Fault, malformed
from service.api.values import TEXT_PATTERN, Amount, ApplyWhen, Body, BudgetName, Id, Text, Unit

__all__ = ["PATH", "REASON", "Budget", "BudgetBody", "delete_budget", "put_budget", "reason_of"]

ENDLESS = ("lifetime", "rolling")
"""Kinds of windows that no other window follows."""

REASON = Parameter(
    "reason", "Recorded with the change.", {"type": "string", "pattern": TEXT_PATTERN}
)
_REASON = re.compile(TEXT_PATTERN.removeprefix("^").removesuffix("$"))


Seconds = Annotated[int, Field(strict=True, ge=1, le=31622400)]
Percentage = Annotated[int, Field(strict=True, ge=1, le=1000)]


class CalendarWindow(Body):
    """A period of the calendar, in the account's time zone."""

    kind: Literal["calendar"]
    period: Literal["hour", "day", "week", "month", "quarter", "year"]
    week_start: (
        Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] | None
    ) = None
    year_start_month: Annotated[int, Field(strict=True, ge=1, le=12)] | None = None


class CycleWindow(Body):
    """A month or a year from the day of the account's cycle_anchor."""

    kind: Literal["cycle"]
    period: Literal["month", "year"] | None = None
    """month unless said otherwise."""


class FixedWindow(Body):
    """A number of seconds from the first spend."""

    kind: Literal["fixed"]
    seconds: Seconds


class RollingWindow(Body):
    """The last so many seconds, in equal slices; a slice counts until it has wholly aged out."""

    kind: Literal["rolling"]
    seconds: Seconds
    slices: Annotated[int, Field(strict=True, ge=1, le=1000)]

    @field_validator("slices")
    @classmethod
    def _whole_milliseconds(cls, value: int, info: ValidationInfo) -> int:
        if info.data.get("seconds", 0) * 1000 % value:
            raise PydanticCustomError(
                "presence", "must divide the period into slices of whole milliseconds"
            )
        return value


class LifetimeWindow(Body):
    """Never resets: prepaid."""

    kind: Literal["lifetime"]


Window = Annotated[
    CalendarWindow | CycleWindow | FixedWindow | RollingWindow | LifetimeWindow,
    Field(discriminator="kind"),
]


class Rollover(Body):
    """What one window leaves to the next."""

    max: Amount
    """Most of what is left that is added to the next limit."""
    overspend: bool | None = None
    """true: what was spent above the limit counts in the next window."""


class _Limit(Body):
    unit: Unit
    window: Window
    limit_amount: Amount | None
    """null: unlimited, which is not 0."""
    model: Id | None = None
    """The only model it counts."""
    enforcement: Literal["hard", "soft", "observe"] | None = None
    """hard unless said otherwise."""
    overdraft_amount: Amount | None = None
    """How far a soft budget may be overdrawn."""
    overage: Literal["charge", "reject"] | None = None
    """What a settlement above its hold does; charge unless said otherwise."""
    on_expiry: Literal["keep", "release", "charge"] | None = None
    """What a hold whose time passes does; keep unless said otherwise."""
    rollover: Rollover | None = None
    """Nothing rolls over unless said otherwise; only for windows that end."""
    thresholds: (
        Annotated[list[Percentage], Field(max_length=16, json_schema_extra={"uniqueItems": True})]
        | None
    ) = None
    """Percentages of the limit: that what is settled has reached one is told once a window."""

    @field_validator("thresholds")
    @classmethod
    def _all_different(cls, value: list[int] | None) -> list[int] | None:
        if value and len(set(value)) < len(value):
            raise PydanticCustomError("presence", "must not name a percentage twice")
        return value

    @field_validator("overdraft_amount")
    @classmethod
    def _soft_only(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value and info.data.get("enforcement", "soft") != "soft":
            raise PydanticCustomError("presence", "is for soft budgets only")
        return value

    @field_validator("rollover")
    @classmethod
    def _of_windows_that_end(cls, value: Rollover | None, info: ValidationInfo) -> Rollover | None:
        if value is not None and getattr(info.data.get("window"), "kind", "") in ENDLESS:
            raise PydanticCustomError(
                "presence", "is only for windows that end: calendar, cycle or fixed"
            )
        return value


class Budget(_Limit):
    """One limit of a plan."""

    name: BudgetName


class BudgetBody(_Limit):
    """One limit of an account."""

    apply: ApplyWhen | None = None
    """now unless said otherwise."""
    reason: Text | None = None


_EXAMPLE: dict[str, Any] = {
    "unit": "usd_nano",
    "window": {"kind": "calendar", "period": "month"},
    "limit_amount": 500000000,
}

PUT_BUDGET = Operation(
    summary="Set a budget of an account",
    tag="Administration",
    roles=ADMIN,
    body=BudgetBody,
    answers={200: BudgetAnswer},
    problems=("account_unknown",),
    example=_EXAMPLE,
)
DELETE_BUDGET = Operation(
    summary="Retire a budget of an account",
    tag="Administration",
    roles=ADMIN,
    answers={200: RetiredBudget},
    problems=("account_unknown", "budget_unknown"),
    query=(REASON,),
)
PATH = "/accounts/{account_id:str}/budgets/{name:str}"


@put(PATH, opt={"operation": PUT_BUDGET})
async def put_budget(
    request: AnyRequest, account_id: FromPath[str], name: FromPath[str], body: RawBody
) -> Response[bytes]:
    """It replaces the budget of the same name that the account's plan has."""
    owner, named = path_id(account_id, "account_id"), path_name(name)
    text = checked(request, body, BudgetBody)
    actor = request.user.key_id
    return answer(request, await ledger_of(request).put_budget(owner, named, text, actor))


@delete(PATH, status_code=200, opt={"operation": DELETE_BUDGET})
async def delete_budget(
    request: AnyRequest, account_id: FromPath[str], name: FromPath[str], body: RawBody
) -> Response[bytes]:
    """Its windows and all that was counted on them stay on record."""
    owner, named = path_id(account_id, "account_id"), path_name(name)
    reason = reason_of(no_body(request, body))
    actor = request.user.key_id
    return answer(request, await ledger_of(request).delete_budget(owner, named, reason, actor))


def reason_of(query: dict[str, str]) -> str | None:
    """The reason that a query gives.

    Raises:
        Problem: 400 when it is no line of text.
    """
    given = query.get("reason")
    if given is not None and not _REASON.fullmatch(given):
        raise malformed(
            [Fault("query.reason", "must be 1 to 256 characters, none of them a control character")]
        )
    return given
