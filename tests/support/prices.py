"""Rates as a price page has them, and how to publish them."""

from fractions import Fraction
from typing import Any

from tests.support.money import Json
from tests.support.session import Session

__all__ = ["CHAT", "MODEL", "ask", "exact", "publish", "rate", "rates", "spend", "tier"]

MODEL = "acme/chat-1"

_PER = 1_000_000


def rate(usd: str, per: int = _PER, **more: Any) -> Json:
    """USD for so many (a million unless said otherwise), as ``"0.26"``."""
    micro = Fraction(usd) * 1_000_000
    assert micro.denominator == 1, usd
    return {"micro_usd": int(micro), "per": per, **more}


def rates(**usd: str) -> Json:
    """USD per million, by dimension."""
    return {dimension: rate(figure) for dimension, figure in usd.items()}


CHAT = rates(input_tokens="3", cached_input_tokens="0.30", output_tokens="15")


async def publish(session: Session, model: str = MODEL, **body: Any) -> Json:
    """A price table; `CHAT` unless other rates are given."""
    if not {"rates", "tiers"} & set(body):
        body["rates"] = CHAT
    reply: Json = await session.call("publish_price_table", body={"model": model, **body})
    return reply


async def ask(
    session: Session, request_id: str, account_id: str, max_usage: Json, **more: Any
) -> Json:
    """Reserve by max_usage, of `MODEL` unless said otherwise."""
    reply: Json = await session.call(
        "reserve",
        request_id=request_id,
        account_id=account_id,
        max_usage=max_usage,
        **{"model": MODEL, **more},
    )
    return reply


async def spend(
    session: Session, request_id: str, account_id: str, usage: Json | None = None, **more: Any
) -> Json:
    """Charge a usage of `MODEL` unless said otherwise."""
    given = {} if usage is None else {"usage": usage}
    reply: Json = await session.call(
        "charge", request_id=request_id, account_id=account_id, **given, **{"model": MODEL, **more}
    )
    return reply


def tier(above: int, table: Json) -> Json:
    """Rates above so many input tokens."""
    return {"above_input_tokens": above, "rates": table}


def exact(usage: dict[str, int], table: Json) -> Fraction:
    """The cost of a usage by rates of USD, in nano-USD, before it is rounded."""
    shares = (
        Fraction(count * table[dimension]["micro_usd"] * 1000, table[dimension]["per"])
        for dimension, count in usage.items()
        if count
    )
    return sum(shares, Fraction(0))
