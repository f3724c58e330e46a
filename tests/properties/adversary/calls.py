"""The calls of the model made on the real ledger, on as many connections as are wanted."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.properties.adversary.accounts import Definition, Plan
from tests.properties.system import System
from tests.support.clock import Clock
from tests.support.money import Json

__all__ = ["Adversary", "Call", "is_priced"]

Call = tuple[Any, ...]
"""A name and its arguments, as the model's ``perform`` takes them."""

ORDER = ("unit", "limit_amount", "enforcement", "overage", "on_expiry")


def is_priced(request_id: str) -> bool:
    """Requests of such names say what they use, all others what they cost."""
    return request_id.startswith("p")


def budget_of(d: Definition, limit: int | None, **more: Any) -> Json:
    return {
        "unit": d.unit, "window": d.policy, "limit_amount": limit, "enforcement": d.enforcement,
        "overdraft_amount": d.overdraft, "overage": d.overage, "on_expiry": d.on_expiry, **more,
    }  # fmt: skip


class Adversary(System):
    """One connection for what comes one by one, two for what comes at once."""

    def __init__(self, url: str, clock: Clock) -> None:
        super().__init__(url, clock)
        self.pair = [psycopg.connect(url, autocommit=True) for _ in range(2)]
        self.threads = ThreadPoolExecutor(2)
        self.plans: dict[str, Plan] = {}

    def close(self) -> None:
        self.threads.shutdown()
        for connection in self.pair:
            connection.close()
        super().close()

    def make(self, call: Call) -> Json:
        """One call, by itself."""
        return self._on(self.connection, call)

    def make_both(self, first: Call, second: Call) -> tuple[Json, Json]:
        """Two calls at once."""
        one, other = (
            self.threads.submit(self._on, connection, call)
            for connection, call in zip(self.pair, (first, second), strict=True)
        )
        return one.result(60), other.result(60)

    def _on(self, connection: psycopg.Connection, call: Call) -> Json:
        name, *arguments = call
        function, named = getattr(self, f"_{name}")(*arguments)
        given = ", ".join(f"{key} => %s" for key in named)
        values = [Jsonb(v) if isinstance(v, dict) else v for v in named.values()]
        row = connection.execute(
            f"select preauth_api.{function}({given})".encode(), values
        ).fetchone()
        assert row is not None
        return row[0] if isinstance(row[0], dict) else {"count": row[0]}

    def _ask(self, request_id: str, who: str, body: Json) -> tuple[str, Json]:
        named: Json = {"request_id": request_id, "account_id": who, **body}
        if "usage" in body:
            used = {"input_tokens": named.pop("usage")}
            named |= {"model": "m", ("max_usage" if "ttl_seconds" in body else "usage"): used}
        return "reserve" if "ttl_seconds" in body else "charge", named

    def _settle(self, request_id: str, who: str | None, spent: int | None) -> tuple[str, Json]:
        named = {"request_id": request_id, "account_id": who}
        return "settle", named | ({"outcome": "unknown"} if spent is None else spent_of(request_id, spent))  # fmt: skip

    def _give_back(self, request_id: str, who: str | None) -> tuple[str, Json]:
        return "release", {"request_id": request_id, "account_id": who, "reason": "not sent"}

    def _extend(self, request_id: str, who: str | None, ttl: int) -> tuple[str, Json]:
        return "extend", {"request_id": request_id, "account_id": who, "ttl_seconds": ttl}

    def _cancel(self, request_id: str, who: str | None) -> tuple[str, Json]:
        return "cancel", {"request_id": request_id, "account_id": who}

    def _resolve(self, request_id: str, who: str | None, action: str, spent: int) -> tuple[str, Json]:  # fmt: skip
        named = {"request_id": request_id, "account_id": who, "action": action, "reason": "why"}
        return "resolve", named | (spent_of(request_id, spent) if action == "settle" else {})

    def _swept(self) -> tuple[str, Json]:
        return "expire_due", {"max_count": 1000}

    def _due(self) -> tuple[str, Json]:
        return "apply_due", {"max_count": 1000}

    def _put_budget(self, who: str, wanted: Definition, apply: str) -> tuple[str, Json]:
        body = budget_of(wanted, wanted.limit, apply=apply)
        return "put_budget", {"account_id": who, "name": wanted.name, "body": body}

    def _put_plan(self, plan_id: str, limit: int | None, apply: str) -> tuple[str, Json]:
        budgets = [budget_of(d, limit, name=d.name) for d in self.plans[plan_id].budgets]
        return "put_plan", {"plan_id": plan_id, "body": {"budgets": budgets, "apply": apply}}

    def _delete_budget(self, who: str, name: str) -> tuple[str, Json]:
        return "delete_budget", {"account_id": who, "name": name}

    def _switch_plan(self, who: str, plan_id: str, when: str | datetime) -> tuple[str, Json]:
        chosen = {"at": when.isoformat()} if isinstance(when, datetime) else {"apply": when}
        return "switch_plan", {"account_id": who, "body": {"plan_id": plan_id, **chosen}}

    def _move(self, who: str, parent: str | None) -> tuple[str, Json]:
        return "put_account", {"account_id": who, "body": {"parent_id": parent}}

    def _suspend(self, who: str, status: str) -> tuple[str, Json]:
        return "put_account", {"account_id": who, "body": {"status": status}}

    def _put_raise(self, who: str, name: str, amount: int, until: datetime) -> tuple[str, Json]:
        body = {"amount": amount, "expires_at": until.isoformat()}
        return "put_raise", {"account_id": who, "name": name, "body": body}

    def _delete_raise(self, who: str, name: str) -> tuple[str, Json]:
        return "delete_raise", {"account_id": who, "name": name}

    def _correct(self, who: str, name: str, amount: int | None, key: str) -> tuple[str, Json]:
        body = {"budget": name, "reason": "why", "idempotency_key": key}
        if amount is None:
            return "reset", {"account_id": who, "body": body}
        return "adjust", {"account_id": who, "body": {**body, "amount": amount}}

    def _publish(self, rate: int) -> tuple[str, Json]:
        rates = {"input_tokens": {"micro_usd": rate, "per": 1}}
        return "publish_price_table", {"body": {"model": "m", "rates": rates}}

    def figures_of(self, names: tuple[str, ...]) -> dict[str, dict[tuple[str, str], tuple[Any, ...]]]:  # fmt: skip
        """What the ledger's own balances say, in the words of the model's."""
        asked = "select n, preauth_api.balance(n, true) from unnest(%s::text[]) as n"
        members = ("limit", "settled", "reserved", "available")
        return {
            name: {(w["scope"], w["budget"]): tuple(w[m] for m in members) for w in reply["windows"]}
            for name, reply in self.connection.execute(asked, [list(names)]).fetchall()
        }  # fmt: skip


def spent_of(request_id: str, spent: int) -> Json:
    if is_priced(request_id):
        return {"usage": {"input_tokens": spent}}
    return {"amounts": {"tokens": spent, "usd_nano": spent * 1000}}
