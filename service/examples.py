"""The example plans and prices and the demo account of a first start."""

import json
from typing import Any

from service.paths import EXAMPLES
from service.store import Connection, call

__all__ = ["load_examples"]

ACTOR = "preauth dev"


def load_examples(connection: Connection) -> list[str]:
    """Load ``examples/`` into a ledger without plans; the names of what was loaded."""
    if _has_plans(connection):
        return []
    wanted = _example("plans.json")
    prices = _example("prices.json")
    with connection.transaction():
        for plan, body in wanted["plans"].items():
            call(connection, "put_plan", plan_id=plan, body=body, actor=ACTOR)
        for account, body in wanted["accounts"].items():
            call(connection, "put_account", account_id=account, body=body, actor=ACTOR)
        for body in prices:
            call(connection, "publish_price_table", body=body, actor=ACTOR)
    return [*wanted["plans"], *wanted["accounts"], f"{len(prices)} price tables"]


def _example(name: str) -> Any:
    return json.loads((EXAMPLES / name).read_text("utf-8"))


def _has_plans(connection: Connection) -> bool:
    row = connection.execute("select exists (select from preauth.plan)").fetchone()
    return bool(row and row[0])
