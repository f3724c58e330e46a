"""PUT and DELETE /accounts/{account_id}/budgets/{name}/raise: more for a while."""

from typing import Annotated

from litestar import Response, delete, put
from litestar.params import FromPath, RawBody
from pydantic import Field

from service.api.admin import checked, no_body
from service.api.answers.accounts import EndedRaise, RaiseAnswer
from service.api.budgets import PATH, REASON, reason_of
from service.api.calls import AnyRequest, answer, ledger_of
from service.api.operation import ADMIN, Operation
from service.api.paths import path_id, path_name
from service.api.values import MAX_AMOUNT, Body, Instant, Text


class RaiseBody(Body):
    """How much more, and until when."""

    amount: Annotated[int, Field(strict=True, ge=1, le=MAX_AMOUNT)]
    """Added to the limit, in the budget's unit."""
    expires_at: Instant
    """When it ends by itself; in the future."""
    reason: Text | None = None


PUT_RAISE = Operation(
    summary="Raise a limit until an instant",
    tag="Administration",
    roles=ADMIN,
    body=RaiseBody,
    answers={200: RaiseAnswer},
    problems=("account_unknown", "budget_unknown"),
    example={"amount": 5000000000, "expires_at": "2099-01-01T00:00:00Z", "reason": "launch week"},
)
DELETE_RAISE = Operation(
    summary="End a raise before its time",
    tag="Administration",
    roles=ADMIN,
    answers={200: EndedRaise},
    problems=("raise_unknown",),
    query=(REASON,),
)


@put(f"{PATH}/raise", opt={"operation": PUT_RAISE})
async def put_raise(
    request: AnyRequest, account_id: FromPath[str], name: FromPath[str], body: RawBody
) -> Response[bytes]:
    """It counts in the current window and in those that begin until then; it replaces another."""
    owner, named = path_id(account_id, "account_id"), path_name(name)
    text = checked(request, body, RaiseBody)
    actor = request.user.key_id
    return answer(request, await ledger_of(request).put_raise(owner, named, text, actor))


@delete(f"{PATH}/raise", status_code=200, opt={"operation": DELETE_RAISE})
async def delete_raise(
    request: AnyRequest, account_id: FromPath[str], name: FromPath[str], body: RawBody
) -> Response[bytes]:
    """What was spent out of it stays spent."""
    owner, named = path_id(account_id, "account_id"), path_name(name)
    reason = reason_of(no_body(request, body))
    actor = request.user.key_id
    return answer(request, await ledger_of(request).delete_raise(owner, named, reason, actor))
