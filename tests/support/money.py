"""Short words for amounts, windows and budgets, so that a test reads like its contract row."""

from typing import Any

__all__ = [
    "CENT",
    "DAY",
    "DOLLAR",
    "HOUR",
    "LIFETIME",
    "MAX_AMOUNT",
    "MONTH",
    "Json",
    "budget",
    "calendar",
    "cycle",
    "fixed",
    "rolling",
    "tokens",
    "usd",
]

Json = dict[str, Any]

DOLLAR = 1_000_000_000
CENT = DOLLAR // 100
MAX_AMOUNT = 2**53 - 1

LIFETIME: Json = {"kind": "lifetime"}


def calendar(period: str, **options: object) -> Json:
    return {"kind": "calendar", "period": period, **options}


HOUR, DAY, MONTH = calendar("hour"), calendar("day"), calendar("month")


def fixed(seconds: int) -> Json:
    return {"kind": "fixed", "seconds": seconds}


def cycle(period: str = "month") -> Json:
    return {"kind": "cycle", "period": period}


def rolling(seconds: int, slices: int) -> Json:
    return {"kind": "rolling", "seconds": seconds, "slices": slices}


def tokens(amount: int) -> Json:
    return {"tokens": amount}


def usd(nano: int) -> Json:
    return {"usd_nano": nano}


def budget(
    name: str | None = None,
    limit: int | None = 1000,
    unit: str = "tokens",
    window: Json | None = None,
    **more: object,
) -> Json:
    """A budget's body; without a name it is the body of ``put_budget``."""
    body = {"unit": unit, "window": window or LIFETIME, "limit_amount": limit, **more}
    return {"name": name, **body} if name else body
