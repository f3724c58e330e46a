"""POST /extend: the work takes longer."""

from service.api.answers.settlements import Extension
from service.api.call_route import CallRoute
from service.api.operation import SPEND, Operation
from service.api.values import Body, Id, TtlSeconds


class ExtendBody(Body):
    """How long the hold shall last from now."""

    request_id: Id
    account_id: Id | None = None
    """May be left out while request_id names one reservation."""
    ttl_seconds: TtlSeconds


EXTEND = Operation(
    summary="Make a hold last longer",
    tag="Calls",
    roles=SPEND,
    body=ExtendBody,
    answers={200: Extension},
    problems=(
        "reservation_unknown",
        "account_id_required",
        "not_authorized",
        "already_settled",
        "already_released",
        "hold_lapsed",
    ),
    vendor_errors=True,
    example={"request_id": "chat-8d1f", "ttl_seconds": 300},
)


extend = CallRoute("extend", EXTEND, "Never shortens.")
