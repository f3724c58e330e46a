"""POST /settle: replace a hold by what was spent."""

from typing import Any, Literal, Self

from pydantic import ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from service.api.answers.settlements import Settlement
from service.api.call_route import CallRoute
from service.api.operation import SPEND, Operation
from service.api.provider_usage import ProviderUsage
from service.api.values import Amounts, Body, Id, Text, Usage, presence


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
    amounts: Amounts | None = None
    """What it cost, by unit: instead of usage, or where that says nothing."""

    @field_validator("usage", "provider_usage")
    @classmethod
    def _known(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and info.data.get("outcome") == "unknown":
            raise PydanticCustomError("presence", "must be left out when the outcome is unknown")
        if value is not None and info.data.get("usage") is not None:
            raise PydanticCustomError("presence", "must be left out where there is usage")
        return value

    @model_validator(mode="after")
    def _presence(self) -> Self:
        unknown = self.outcome == "unknown"
        if self.amounts is not None:
            if unknown:
                raise presence("amounts", "must be left out when the outcome is unknown")
        elif not unknown and self.usage is None and self.provider_usage is None:
            raise presence("amounts", "is required, or usage, unless the outcome is unknown")
        return self


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
