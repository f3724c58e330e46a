"""The framework's own cost: the service's models for a body and an answer, and nothing done."""

from datetime import UTC, datetime, timedelta

from litestar import Litestar, post

from service.api.answers.decisions import Authorization, Line
from service.api.reserve import ReserveBody


@post("/reserve", status_code=200)
async def reserve(data: ReserveBody) -> Authorization:
    """Say yes to all."""
    amount = data.amounts["usd_nano"]
    line = Line(
        budget="month",
        scope=data.account_id,
        unit="usd_nano",
        window="2026-11",
        amount=amount,
        available=9_000_000_000_000_000 - amount,
    )
    return Authorization(
        request_id=data.request_id,
        account_id=data.account_id,
        decision="authorized",
        state="authorized",
        model=data.model,
        chosen_alternative=None,
        price_table_id=None,
        lines=[line],
        expires_at=datetime.now(UTC) + timedelta(seconds=data.ttl_seconds or 120),
        over_limit=False,
        replayed=False,
    )


def create_app() -> Litestar:
    """Build it."""
    return Litestar([reserve], openapi_config=None, logging_config=None)
