"""POST /price-tables/rerate: put right what a wrong price table cost."""

from typing import Annotated

from litestar import Response, post
from litestar.params import RawBody
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from service.api.answers.prices import Rerating
from service.api.calls import AnyRequest, answer, ledger_of, operation_of
from service.api.fields import fields_of
from service.api.instants import Instant, instant
from service.api.operation import ADMIN, Operation
from service.api.query import parameters
from service.api.strict import decode
from service.api.values import MAX_AMOUNT, Body, Text

PriceTableId = Annotated[int, Field(strict=True, ge=1, le=MAX_AMOUNT)]


class RerateBody(Body):
    """Which spend to price once more, and by what."""

    wrong_table: PriceTableId
    """What priced it."""
    right_table: PriceTableId
    """What should have, in the same unit."""
    since: Instant
    """From then."""
    until: Instant
    """Until just before then."""
    confirm: bool | None = None
    """true: adjust. Otherwise the difference is shown, and nothing is written."""
    reason: Text | None = None

    @field_validator("until")
    @classmethod
    def _forward(cls, value: str, info: ValidationInfo) -> str:
        if "since" in info.data and instant(value) <= instant(info.data["since"]):
            raise PydanticCustomError("order", "must be after since")
        return value


RERATE = Operation(
    summary="Rerate what a wrong price table cost",
    tag="Administration",
    roles=ADMIN,
    body=RerateBody,
    answers={200: Rerating},
    problems=(
        "price_table_unknown",
        "dimension_unpriced",
        "dimension_unbounded",
        "amount_out_of_range",
    ),
    example={
        "wrong_table": 7,
        "right_table": 8,
        "since": "2026-09-01T00:00:00Z",
        "until": "2026-10-01T00:00:00Z",
    },
)


@post("/price-tables/rerate", status_code=200, opt={"operation": RERATE})
async def rerate(request: AnyRequest, body: RawBody) -> Response[bytes]:
    """Shows the difference by account; confirmed, each window moves by an adjustment, once."""
    parameters(request.scope, operation_of(request))
    wish, _ = decode(RerateBody, fields_of(request.scope), body)
    outcome = await ledger_of(request).rerate(
        wish.wrong_table,
        wish.right_table,
        instant(wish.since),
        instant(wish.until),
        confirm=bool(wish.confirm),
        reason=wish.reason,
        actor=request.user.key_id,
    )
    return answer(request, outcome)
