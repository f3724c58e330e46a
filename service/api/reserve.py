"""POST /reserve: hold an amount on every budget that applies, or say which one refuses."""

from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from service.api.answers.decisions import Authorization
from service.api.call_route import CallRoute
from service.api.operation import SPEND, Operation
from service.api.values import Alternative, Amounts, Body, Id, Labels, MaxUsage, TtlSeconds


class ReserveBody(Body):
    """A request for an authorization hold."""

    request_id: Id
    """The caller's own id of the work, unique within the account; sent again, answered again."""
    account_id: Id
    model: Id | None = None
    """Budgets for one model apply to it, and its price; ``name:batch`` for a variant."""
    max_usage: MaxUsage | None = None
    """The most that the work can use, by dimension: priced by the model's price table."""
    amounts: Annotated[Amounts | None, Field(validate_default=True)] = None
    """The most that the work can cost, by unit: instead of max_usage, or where it says nothing."""
    ttl_seconds: TtlSeconds | None = None
    """120 unless said otherwise."""
    alternatives: Annotated[list[Alternative], Field(min_length=1, max_length=8)] | None = None
    """Tried in order when the request itself doesn't fit."""
    session_id: Id | None = None
    labels: Labels | None = None
    dry_run: bool | None = None
    """Decide as if, and write nothing."""

    @field_validator("amounts")
    @classmethod
    def _presence(cls, value: Amounts | None, info: ValidationInfo) -> Amounts | None:
        if value is None and "max_usage" in info.data and info.data["max_usage"] is None:
            raise PydanticCustomError("presence", "is required, or max_usage")
        return value


RESERVE = Operation(
    summary="Hold an amount before the work is done",
    tag="Calls",
    roles=SPEND,
    body=ReserveBody,
    answers={200: Authorization},
    denies=True,
    problems=(
        "request_id_conflict",
        "amount_missing",
        "price_missing",
        "dimension_unpriced",
        "dimension_unbounded",
        "amount_out_of_range",
    ),
    vendor_errors=True,
    batches=True,
    example={
        "request_id": "chat-8d1f",
        "account_id": "user_42",
        "amounts": {"usd_nano": 100000000},
    },
)


reserve = CallRoute(
    "reserve",
    RESERVE,
    "Authorize before spending: all budgets of the account and its ancestors hold, or none.",
)
