"""POST /accounts/{account_id}/adjustments and /reset: corrections that leave a trace."""

from typing import Annotated

from litestar import Response, post
from litestar.params import FromPath, RawBody
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from service.api.admin import checked
from service.api.answers.accounts import CorrectionAnswer
from service.api.calls import (
    AnyRequest,
    answer,
    check_idempotency_key,
    ledger_of,
    operation_of,
)
from service.api.fields import fields_of
from service.api.operation import ADMIN, Operation
from service.api.paths import path_id
from service.api.query import parameters
from service.api.strict import decode
from service.api.values import MAX_AMOUNT, Body, BudgetName, Id, Text

WindowKey = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]{1,64}$")]


class ResetBody(Body):
    """Which window is to have nothing settled, and why."""

    budget: BudgetName
    window: WindowKey | None = None
    """A window's key, such as 2026-09; the current one if left out."""
    reason: Text
    idempotency_key: Id | None = None
    """With it, a retry does not reset what was spent since."""


class AdjustmentBody(Body):
    """By how much a window's settled amount is to be moved, and why."""

    budget: BudgetName
    window: WindowKey | None = None
    """A window's key, such as 2026-09; the current one if left out."""
    amount: Annotated[int, Field(strict=True, ge=-MAX_AMOUNT, le=MAX_AMOUNT)]
    """Added to what is settled, in the budget's unit; negative to give back; not 0."""
    reason: Text
    idempotency_key: Id
    """The same key and body again is answered as before and moves nothing."""

    @field_validator("amount")
    @classmethod
    def _moves_something(cls, value: int) -> int:
        if value == 0:
            raise PydanticCustomError("zero", "must not be 0")
        return value


_PROBLEMS = (
    "account_unknown",
    "budget_unknown",
    "window_unknown",
    "request_id_conflict",
    "amount_out_of_range",
)

ADJUST = Operation(
    summary="Correct what a window counts as spent",
    tag="Administration",
    roles=ADMIN,
    body=AdjustmentBody,
    answers={200: CorrectionAnswer},
    problems=_PROBLEMS,
    example={
        "budget": "monthly-usd",
        "amount": -76160000000,
        "reason": "the price was entered per token, not per million",
        "idempotency_key": "correction-2026-09-14",
    },
)
RESET = Operation(
    summary="Adjust a window to nothing spent",
    tag="Administration",
    roles=ADMIN,
    body=ResetBody,
    answers={200: CorrectionAnswer},
    problems=_PROBLEMS,
    example={"budget": "monthly-usd", "reason": "goodwill after the outage"},
)


@post("/accounts/{account_id:str}/adjustments", status_code=200, opt={"operation": ADJUST})
async def adjust(request: AnyRequest, account_id: FromPath[str], body: RawBody) -> Response[bytes]:
    """An event of its own: what was settled is never rewritten."""
    named = path_id(account_id, "account_id")
    parameters(request.scope, operation_of(request))
    fields = fields_of(request.scope)
    wish, text = decode(AdjustmentBody, fields, body)
    check_idempotency_key(fields, wish.idempotency_key, "idempotency_key")
    return answer(request, await ledger_of(request).adjust(named, text, request.user.key_id))


@post("/accounts/{account_id:str}/reset", status_code=200, opt={"operation": RESET})
async def reset(request: AnyRequest, account_id: FromPath[str], body: RawBody) -> Response[bytes]:
    """An adjustment by what is settled. What is held stays held."""
    named = path_id(account_id, "account_id")
    text = checked(request, body, ResetBody)
    return answer(request, await ledger_of(request).reset(named, text, request.user.key_id))
