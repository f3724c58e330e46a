"""POST /charge: check and spend in one step, where the cost is known."""

from typing import Any, Self

from pydantic import ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from service.api.answers.decisions import Charge
from service.api.call_route import CallRoute
from service.api.operation import SPEND, Operation
from service.api.provider_usage import ProviderUsage
from service.api.values import Amounts, Body, Id, Labels, MaxUsage, Usage, presence


class ChargeBody(Body):
    """A spend whose amount is known."""

    request_id: Id
    account_id: Id
    model: Id | None = None
    usage: Usage | None = None
    """What was used, by dimension: priced by the model's price table."""
    provider_usage: ProviderUsage | None = None
    """In the place of ``usage``: the provider's own object."""
    max_usage: MaxUsage | None = None
    """Where no more is known: charged at the ceiling."""
    amounts: Amounts | None = None
    """What it costs, by unit: instead of usage, or where that says nothing."""
    session_id: Id | None = None
    labels: Labels | None = None
    record: bool | None = None
    """true: it has happened already. Never refused, flagged where it didn't fit."""

    @field_validator("provider_usage", "max_usage")
    @classmethod
    def _one_of(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and info.data.get("usage") is not None:
            raise PydanticCustomError("presence", "must be left out where there is usage")
        if value is not None and info.data.get("provider_usage") is not None:
            raise PydanticCustomError("presence", "must be left out where there is provider_usage")
        return value

    @model_validator(mode="after")
    def _presence(self) -> Self:
        told = (self.amounts, self.usage, self.provider_usage, self.max_usage)
        if not any(one is not None for one in told):
            raise presence("amounts", "is required, or usage, or max_usage")
        return self


CHARGE = Operation(
    summary="Spend a known amount",
    tag="Calls",
    roles=SPEND,
    body=ChargeBody,
    answers={200: Charge},
    denies=True,
    problems=(
        "request_id_conflict",
        "usage_unrecognised",
        "amount_missing",
        "price_missing",
        "dimension_unpriced",
        "dimension_unbounded",
        "amount_out_of_range",
    ),
    vendor_errors=True,
    batches=True,
    example={"request_id": "search-77", "account_id": "user_42", "amounts": {"requests": 1}},
)


charge = CallRoute("charge", CHARGE, "Nothing is charged when it doesn't fit.")
