"""PUT and GET /accounts/{account_id}: who spends, and under whom."""

from datetime import date
from typing import Annotated, Literal

from litestar import Response, get, put
from litestar.params import FromPath, RawBody
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from service.api.admin import checked
from service.api.answers.accounts import AccountAnswer
from service.api.calls import AnyRequest, answer, ledger_of, operation_of
from service.api.operation import ADMIN, AUDIT, Operation
from service.api.paths import path_id
from service.api.query import parameters
from service.api.values import Body, Id, Text


class AccountFields(Body):
    """What is said of an account."""

    plan_id: Id | None = None
    parent_id: Id | None = None
    time_zone: Annotated[str, Field(pattern=r"^[A-Za-z0-9_+/-]{1,64}$")] | None = None
    """An IANA name, as Europe/Amsterdam; UTC when null."""
    cycle_anchor: (
        Annotated[
            str,
            Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", json_schema_extra={"format": "date"}),
        ]
        | None
    ) = None
    """The date on which billing cycles begin, as 2026-01-31."""
    status: Annotated[
        Literal["active", "suspended"],
        Field(json_schema_extra=lambda schema: schema.pop("default")),
    ] = "active"
    """A new account is active."""
    max_open_holds: Annotated[int, Field(strict=True, ge=0, le=1000000)] | None = None
    """Most reservations open at once; no bound when null."""

    @field_validator("cycle_anchor")
    @classmethod
    def _is_a_date(cls, value: str | None) -> str | None:
        try:
            date.fromisoformat(value or "2000-01-01")
        except ValueError:
            raise PydanticCustomError("date", "must be a date") from None
        return value


class AccountBody(AccountFields):
    """What to change: a member left out is kept, null clears it."""

    reason: Text | None = None


PUT_ACCOUNT = Operation(
    summary="Create or change an account",
    tag="Administration",
    roles=ADMIN,
    body=AccountBody,
    answers={200: AccountAnswer},
    problems=("reference_unknown", "parent_cycle", "account_too_deep"),
    example={"plan_id": "free", "time_zone": "Europe/Amsterdam"},
)
READ_ACCOUNT = Operation(
    summary="An account with its own budgets",
    tag="Reads",
    roles=AUDIT,
    answers={200: AccountAnswer},
    problems=("account_unknown",),
)


@put("/accounts/{account_id:str}", opt={"operation": PUT_ACCOUNT})
async def put_account(
    request: AnyRequest, account_id: FromPath[str], body: RawBody
) -> Response[bytes]:
    """An account may stand under another: the budgets of all its ancestors apply to it."""
    named = path_id(account_id, "account_id")
    text = checked(request, body, AccountBody)
    return answer(request, await ledger_of(request).put_account(named, text, request.user.key_id))


@get("/accounts/{account_id:str}", opt={"operation": READ_ACCOUNT})
async def account(request: AnyRequest, account_id: FromPath[str]) -> Response[bytes]:
    """Its plan, its place in the tree, and its own budgets."""
    parameters(request.scope, operation_of(request))
    outcome = await ledger_of(request).account(
        path_id(account_id, "account_id"), request.user.account_id
    )
    return answer(request, outcome)
