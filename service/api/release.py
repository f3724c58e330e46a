"""POST /release: the provider definitely did no billable work."""

from service.api.answers.settlements import Release
from service.api.call_route import CallRoute
from service.api.operation import SPEND, Operation
from service.api.values import Body, Id, Text


class ReleaseBody(Body):
    """Why nothing was spent."""

    request_id: Id
    account_id: Id | None = None
    """May be left out while request_id names one reservation."""
    reason: Text


RELEASE = Operation(
    summary="Give a hold back",
    tag="Calls",
    roles=SPEND,
    body=ReleaseBody,
    answers={200: Release},
    problems=("reservation_unknown", "account_id_required", "not_authorized", "already_settled"),
    vendor_errors=True,
    example={"request_id": "chat-8d1f", "reason": "the provider refused the request"},
)


release = CallRoute(
    "release",
    RELEASE,
    "Only where the provider certainly did nothing billable; else settle as ``unknown``.",
)
