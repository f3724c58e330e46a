"""Re-rating: spend under a wrong table, at the prices of the right one."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import psycopg

from service.settings import Settings
from service.store import call, database

__all__ = ["rerate_lines"]

ACTOR = "preauth prices"
NANO = Decimal(10**9)


def rerate_lines(settings: Settings, **arguments: Any) -> Iterator[str]:
    """Call ``preauth_api.rerate`` and say the difference for each account, and the sum.

    Raises:
        click.ClickException: it is refused.
    """
    with database(settings) as dsn, psycopg.connect(dsn) as connection:
        answer = call(connection, "rerate", **arguments, actor=ACTOR)
    return _lines(answer)


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    for account in answer["accounts"]:
        yield f"{account['account_id']}: {_line(account, answer['unit'])}"
    yield f"total: {_line(answer, answer['unit'])}"


def _line(row: Mapping[str, Any], unit: str) -> str:
    before, after = _amount(row["before"], unit), _amount(row["after"], unit)
    sign = "-" if row["difference"] < 0 else "+"
    difference = sign + _amount(abs(row["difference"]), unit)
    return f"{row['events']} events, {before} -> {after} ({difference})"


def _amount(amount: int, unit: str) -> str:
    return f"${Decimal(amount) / NANO:f}" if unit == "usd_nano" else f"{amount} {unit}"
