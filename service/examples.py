"""The example plans and the demo account of a first start."""

import json

from service.paths import EXAMPLES
from service.store import Connection, call

__all__ = ["load_examples"]

ACTOR = "preauth dev"


def load_examples(connection: Connection) -> list[str]:
    """Load ``examples/plans.json`` into a ledger without plans; the names of what was loaded."""
    if _has_plans(connection):
        return []
    wanted = json.loads((EXAMPLES / "plans.json").read_text("utf-8"))
    with connection.transaction():
        for plan, body in wanted["plans"].items():
            call(connection, "put_plan", plan_id=plan, body=body, actor=ACTOR)
        for account, body in wanted["accounts"].items():
            call(connection, "put_account", account_id=account, body=body, actor=ACTOR)
    return [*wanted["plans"], *wanted["accounts"]]


def _has_plans(connection: Connection) -> bool:
    row = connection.execute("select exists (select from preauth.plan)").fetchone()
    return bool(row and row[0])
