"""POST /charge: check and spend in one step, where the cost is known."""

from service.api.answers import Charge
from service.api.call_route import CallRoute
from service.api.operation import SPEND, Operation
from service.api.provider_usage import ProviderUsage
from service.api.values import Amounts, Body, Id, Labels


class ChargeBody(Body):
    """A spend whose amount is known."""

    request_id: Id
    account_id: Id
    amounts: Amounts
    provider_usage: ProviderUsage | None = None
    """In the place of ``usage``: the provider's own object."""
    model: Id | None = None
    session_id: Id | None = None
    labels: Labels | None = None
    record: bool | None = None
    """true: it has happened already. Never refused, flagged where it didn't fit."""


CHARGE = Operation(
    summary="Spend a known amount",
    tag="Calls",
    roles=SPEND,
    body=ChargeBody,
    answers={200: Charge},
    denies=True,
    problems=("request_id_conflict", "usage_unrecognised", "amount_missing"),
    vendor_errors=True,
    batches=True,
    example={"request_id": "search-77", "account_id": "user_42", "amounts": {"requests": 1}},
)


charge = CallRoute("charge", CHARGE, "Nothing is charged when it doesn't fit.")
