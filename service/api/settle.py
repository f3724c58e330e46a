"""POST /settle: replace a hold by what was spent."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from service.api.answers.settlements import Settlement
from service.api.call_route import CallRoute
from service.api.operation import SPEND, Operation
from service.api.provider_usage import ProviderUsage
from service.api.values import Amounts, Body, Id, Text, Usage


class SettleBody(Body):
    """What the work cost in the end."""

    request_id: Id
    account_id: Id | None = None
    """May be left out while request_id names one reservation."""
    outcome: Literal["completed", "interrupted", "unknown"] | None = None
    """unknown: the provider may have billed; the hold is kept until a later settlement."""
    provider_request_id: Text | None = None
    usage: Usage | None = None
    """What was used, by dimension: priced by the reservation's own price table."""
    provider_usage: ProviderUsage | None = None
    """In the place of ``usage``: the provider's own object."""
    amounts: Annotated[Amounts | None, Field(validate_default=True)] = None
    """What it cost, by unit: instead of usage, or where that says nothing."""

    @field_validator("usage", "provider_usage")
    @classmethod
    def _known(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and info.data.get("outcome") == "unknown":
            raise PydanticCustomError("presence", "must be left out when the outcome is unknown")
        if value is not None and info.data.get("usage") is not None:
            raise PydanticCustomError("presence", "must be left out where there is usage")
        return value

    @field_validator("amounts")
    @classmethod
    def _presence(cls, value: Amounts | None, info: ValidationInfo) -> Amounts | None:
        unknown = info.data.get("outcome") == "unknown"
        if unknown and value is not None:
            raise PydanticCustomError("presence", "must be left out when the outcome is unknown")
        told = [value, *(info.data.get(name, 0) for name in ("usage", "provider_usage"))]
        if told == [None] * 3 and not unknown and "outcome" in info.data:
            raise PydanticCustomError(
                "presence", "is required, or usage, unless the outcome is unknown"
            )
        return value


SETTLE = Operation(
    summary="Settle a hold at what was spent",
    tag="Calls",
    roles=SPEND,
    body=SettleBody,
    answers={200: Settlement},
    problems=(
        "reservation_unknown",
        "account_id_required",
        "not_authorized",
        "settlement_conflict",
        "settlement_exceeds_hold",
        "usage_unrecognised",
        "amount_missing",
        "price_missing",
        "dimension_unpriced",
        "amount_out_of_range",
    ),
    vendor_errors=True,
    batches=True,
    example={"request_id": "chat-8d1f", "amounts": {"usd_nano": 60000000}},
)


settle = CallRoute(
    "settle",
    SETTLE,
    "Settled exactly once, however often it is sent; the rest of the hold is available at once.",
)
