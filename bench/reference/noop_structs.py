"""The same no-op with msgspec's structs, the fastest models that the framework knows."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from litestar import Litestar, post
from msgspec import Meta, Struct

Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.:@/-]{1,128}$")]
Unit = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
Amount = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class Reserve(Struct, forbid_unknown_fields=True):
    """A request."""

    request_id: Id
    account_id: Id
    amounts: dict[Unit, Amount]
    model: Id | None = None
    ttl_seconds: int | None = None


class Line(Struct):
    """What is held on one window."""

    budget: str
    scope: str
    unit: str
    window: str
    amount: int
    available: int


class Authorization(Struct):
    """An answer."""

    request_id: str
    account_id: str
    decision: str
    state: str
    model: str | None
    chosen_alternative: int | None
    price_table_id: int | None
    lines: list[Line]
    expires_at: datetime
    over_limit: bool
    replayed: bool


@post("/reserve", status_code=200)
async def reserve(data: Reserve) -> Authorization:
    """Say yes to all."""
    amount = data.amounts["usd_nano"]
    left = 9_000_000_000_000_000 - amount
    return Authorization(
        request_id=data.request_id,
        account_id=data.account_id,
        decision="authorized",
        state="authorized",
        model=data.model,
        chosen_alternative=None,
        price_table_id=None,
        lines=[Line("month", data.account_id, "usd_nano", "2026-11", amount, left)],
        expires_at=datetime.now(UTC) + timedelta(seconds=data.ttl_seconds or 120),
        over_limit=False,
        replayed=False,
    )


def create_app() -> Litestar:
    """Build it."""
    return Litestar([reserve], openapi_config=None, logging_config=None)
