"""POST /reserve: hold an amount on every budget that applies, or say which one refuses."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from service.api.answers.decisions import Authorization
from service.api.call_route import CallRoute
from service.api.operation import SPEND, Operation
from service.api.values import (
    Alternative,
    Amounts,
    Body,
    Id,
    Labels,
    MaxUsage,
    TtlSeconds,
    presence,
)


class ReserveBody(Body):
    """A request for an authorization hold."""

    request_id: Id
    """The caller's own id of the work, unique within the account; sent again, answered again."""
    account_id: Id
    model: Id | None = None
    """Budgets for one model apply to it, and its price; ``name:batch`` for a variant."""
    max_usage: MaxUsage | None = None
    """The most that the work can use, by dimension: priced by the model's price table."""
    amounts: Amounts | None = None
    """The most that the work can cost, by unit: instead of max_usage, or where it says nothing."""
    ttl_seconds: TtlSeconds | None = None
    """120 unless said otherwise."""
    alternatives: Annotated[list[Alternative], Field(min_length=1, max_length=8)] | None = None
    """Tried in order when the request itself doesn't fit."""
    session_id: Id | None = None
    labels: Labels | None = None
    dry_run: bool | None = None
    """Decide as if, and write nothing."""

    @model_validator(mode="after")
    def _presence(self) -> Self:
        if self.amounts is None and self.max_usage is None:
            raise presence("amounts", "is required, or max_usage")
        return self


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
