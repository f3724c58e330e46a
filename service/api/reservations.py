"""GET /reservations/{request_id}: a reservation and all that happened to it."""

import re

from litestar import Response, get
from litestar.params import FromPath

from service.api.answers.reservations import Reservation
from service.api.calls import AnyRequest, answer, ledger_of, operation_of
from service.api.operation import AUDIT, Operation, Parameter
from service.api.paths import path_id
from service.api.query import parameters
from service.api.values import ID_PATTERN

READ_RESERVATION = Operation(
    summary="A reservation, its lines and its timeline",
    tag="Reads",
    roles=AUDIT,
    answers={200: Reservation},
    problems=("reservation_unknown", "account_id_required"),
    vendor_errors=True,
    query=(
        Parameter(
            "account_id",
            "May be left out while request_id names one reservation.",
            {"type": "string", "pattern": ID_PATTERN},
        ),
    ),
)


@get("/reservations/{request_id:str}", opt={"operation": READ_RESERVATION})
async def reservation(request: AnyRequest, request_id: FromPath[str]) -> Response[bytes]:
    """What was asked, decided, held, settled, and by whom."""
    query = parameters(request.scope, operation_of(request))
    account_id = query.get("account_id")
    outcome = await ledger_of(request).reservation(
        path_id(request_id, "request_id"),
        None if account_id is None else path_id(_once(account_id), "query.account_id"),
        request.user.account_id,
    )
    return answer(request, outcome)


def _once(value: str) -> str:
    """A query value is decoded already: keep `path_id` from decoding it twice."""
    return re.sub("%", "%25", value)
