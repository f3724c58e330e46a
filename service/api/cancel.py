"""POST /cancel: the user pressed Stop."""

from service.api.answers.settlements import Cancellation
from service.api.call_route import CallRoute
from service.api.operation import SPEND, Operation
from service.api.values import Body, Id


class CancelBody(Body):
    """Which reservation's work shall stop."""

    request_id: Id
    account_id: Id | None = None
    """May be left out while request_id names one reservation."""


CANCEL = Operation(
    summary="Record that the work shall stop",
    tag="Calls",
    roles=SPEND,
    body=CancelBody,
    answers={200: Cancellation},
    problems=(
        "reservation_unknown",
        "account_id_required",
        "not_authorized",
        "already_settled",
        "already_released",
        "hold_lapsed",
    ),
    vendor_errors=True,
    example={"request_id": "chat-8d1f"},
)


cancel = CallRoute(
    "cancel", CANCEL, "The hold stays: the provider may bill what it did until it stopped."
)
