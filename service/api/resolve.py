"""POST /reservations/{request_id}/resolve: a person decides what a machine can't know."""

import json
from typing import Annotated, Literal

from litestar import Response, post
from litestar.params import FromPath, RawBody
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from service.api.answers.settlements import Settlement
from service.api.calls import (
    AnyRequest,
    Errand,
    answer,
    check_idempotency_key,
    count,
    ledger_of,
    operation_of,
)
from service.api.fields import fields_of
from service.api.operation import ADMIN, Operation
from service.api.paths import path_id
from service.api.query import parameters
from service.api.strict import decode
from service.api.values import Amounts, Body, Id, Text, Usage


class ResolveBody(Body):
    """The decision about a stuck hold or an overage under review."""

    account_id: Id | None = None
    """May be left out while request_id names one reservation."""
    action: Literal["settle", "release", "accept_overage"]
    usage: Usage | None = None
    """What was used: with the action settle only."""
    amounts: Annotated[Amounts | None, Field(validate_default=True)] = None
    """What was spent: with the action settle only, instead of usage or where that says nothing."""
    reason: Text

    @field_validator("usage")
    @classmethod
    def _settling(cls, value: Usage | None, info: ValidationInfo) -> Usage | None:
        if value is not None and info.data.get("action", "settle") != "settle":
            raise PydanticCustomError("presence", "is only for the action settle")
        return value

    @field_validator("amounts")
    @classmethod
    def _presence(cls, value: Amounts | None, info: ValidationInfo) -> Amounts | None:
        settling = info.data.get("action") == "settle"
        if settling and value is None and info.data.get("usage", 0) is None:
            raise PydanticCustomError("presence", "is required to settle, or usage")
        if value is not None and not settling and "action" in info.data:
            raise PydanticCustomError("presence", "is only for the action settle")
        return value


RESOLVE = Operation(
    summary="Resolve a stuck hold or an overage under review",
    tag="Administration",
    roles=ADMIN,
    body=ResolveBody,
    answers={200: Settlement},
    problems=(
        "reservation_unknown",
        "account_id_required",
        "not_authorized",
        "already_settled",
        "already_released",
        "settlement_conflict",
        "settlement_exceeds_hold",
        "hold_lapsed",
        "amount_missing",
        "price_missing",
        "dimension_unpriced",
        "amount_out_of_range",
    ),
    vendor_errors=True,
    example={"action": "settle", "amounts": {"usd_nano": 60000000}, "reason": "invoice 2026-09"},
)


@post("/reservations/{request_id:str}/resolve", status_code=200, opt={"operation": RESOLVE})
async def resolve(request: AnyRequest, request_id: FromPath[str], body: RawBody) -> Response[bytes]:
    """Ends a hold whose outcome is unknown, or accepts an overage that a budget rejects."""
    parameters(request.scope, operation_of(request))
    found = path_id(request_id, "request_id")
    fields = fields_of(request.scope)
    checked, text = decode(ResolveBody, fields, body)
    check_idempotency_key(fields, found)
    item = json.dumps(json.loads(text) | {"request_id": found})
    errand = Errand(ledger_of(request), request.user, "resolve", ResolveBody)
    outcome = await errand.run(checked, item)
    count("resolve", outcome)
    return answer(request, outcome)
