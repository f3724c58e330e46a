"""POST and GET /price-tables: what models cost, from when on."""

from typing import Annotated, Any, Literal

from litestar import Response, get, post
from litestar.params import FromPath, RawBody
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from service.api.admin import checked
from service.api.answers.prices import PriceTable, PublishedPriceTable
from service.api.calls import AnyRequest, answer, ledger_of, operation_of
from service.api.instants import INSTANT_SCHEMA, Instant, instant_of
from service.api.operation import ADMIN, AUDIT, Operation, Parameter
from service.api.paths import path_id
from service.api.problems import Fault, malformed
from service.api.query import parameters
from service.api.rates import Rates, Tier
from service.api.values import ID_PATTERN, MAX_AMOUNT, Body, Id, Text, Unit


class PriceTableFields(Body):
    """What is said of a price table."""

    model: Id
    """The exact name, such as openai/gpt-5-mini."""
    variant: Literal["batch", "flex", "priority"] | None = None
    """A request names it as ``model:variant``."""
    unit: Unit | None = None
    """usd_nano unless said otherwise."""
    effective_from: Instant | None = None
    """Now unless said otherwise; a future one takes effect by itself."""
    rates: Rates | None = None
    tiers: Annotated[
        list[Tier] | None, Field(min_length=1, max_length=16, validate_default=True)
    ] = None
    """Instead of rates: ascending from 0, each with the same dimensions."""
    source: Text | None = None
    aliases: Annotated[list[Id], Field(min_length=1, max_length=64)] | None = None
    """Other names of the model; they follow its later tables."""

    @field_validator("tiers")
    @classmethod
    def _one_of(cls, value: list[Tier] | None, info: ValidationInfo) -> list[Tier] | None:
        if "rates" in info.data and (value is None) == (info.data["rates"] is None):
            raise PydanticCustomError("presence", "must be there where there are no rates")
        return value


class PriceTableBody(PriceTableFields):
    """The rates of one model, from an instant on. Published, it never changes."""

    reason: Text | None = None


_RATES: dict[str, Any] = {
    "input_tokens": {"micro_usd": 250000, "per": 1000000},
    "cached_input_tokens": {"micro_usd": 25000, "per": 1000000},
    "output_tokens": {"micro_usd": 2000000, "per": 1000000},
    "reasoning_tokens": {"micro_usd": 2000000, "per": 1000000},
}

PUBLISH = Operation(
    summary="Publish a price table",
    tag="Administration",
    roles=ADMIN,
    body=PriceTableBody,
    answers={200: PublishedPriceTable},
    problems=("price_table_conflict",),
    example={"model": "openai/gpt-5-mini", "rates": _RATES, "source": "price page, 2026-11-30"},
)
LIST = Operation(
    summary="Published price tables",
    tag="Reads",
    roles=AUDIT,
    answers={200: PriceTable},
    many=True,
    query=(
        Parameter(
            "model",
            "Only that name, exactly; model:variant for a variant.",
            {"type": "string", "pattern": ID_PATTERN},
        ),
        Parameter("at", "Only what is in effect then; left out: every version.", INSTANT_SCHEMA),
    ),
)
READ = Operation(
    summary="A price table",
    tag="Reads",
    roles=AUDIT,
    answers={200: PriceTable},
    problems=("price_table_unknown", "not_found"),
)


@post("/price-tables", status_code=200, opt={"operation": PUBLISH})
async def publish_price_table(request: AnyRequest, body: RawBody) -> Response[bytes]:
    """It supersedes the model's earlier tables; what they priced keeps its figures."""
    text = checked(request, body, PriceTableBody)
    return answer(request, await ledger_of(request).publish_price_table(text, request.user.key_id))


@get("/price-tables", opt={"operation": LIST})
async def price_tables(request: AnyRequest) -> Response[bytes]:
    """By name, the newest first; aliases are rows of their own."""
    query = parameters(request.scope, operation_of(request))
    model = query.get("model")
    at = query.get("at")
    outcome = await ledger_of(request).price_tables(
        None if model is None else path_id(model.replace("%", "%25"), "query.model"),
        None if at is None else instant_of(at, "at"),
    )
    return answer(request, outcome)


@get("/price-tables/{price_table_id:int}", opt={"operation": READ})
async def price_table(request: AnyRequest, price_table_id: FromPath[int]) -> Response[bytes]:
    """The one that a reservation or a usage event names."""
    parameters(request.scope, operation_of(request))
    if not 1 <= price_table_id <= MAX_AMOUNT:
        raise malformed([Fault("price_table_id", "must be a whole number from 1")])
    return answer(request, await ledger_of(request).price_table(price_table_id))
