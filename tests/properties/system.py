"""The real ledger, called as the model is: one connection, one call at a time."""

from datetime import datetime
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.properties.model import Account, Budget
from tests.support.clock import Clock

__all__ = ["System"]

TABLES = """
    select string_agg('preauth.' || relname, ',') from pg_class
    where relnamespace = 'preauth'::regnamespace and relkind = 'r'
      and relname not in ('alembic_version', 'configuration')"""
VACUUMED = 100
"""Sequences after which dead rows are removed."""
WINDOW = """
    select w.window_id from preauth.budget_window w join preauth.budget b on b.budget_id = w.budget_id
    where w.account_id = %s and b.name = %s and w.starts_at <= preauth._now() and w.ends_at > preauth._now()"""
ADJUST = """
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor)
    select w.account_id, %s, 'adjustment', w.window_id, jsonb_build_object(b.unit, %s::bigint), preauth._now(), 'test'
    from preauth.budget_window w join preauth.budget b on b.budget_id = w.budget_id where w.window_id = %s"""

Json = dict[str, Any]


class System:
    """Calls of ``preauth_api`` on a database whose clock the test moves."""

    def __init__(self, url: str, clock: Clock) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.clock = clock
        self.calls = 0
        self.cleared = 0
        self.tables: list[str] = []

    def close(self) -> None:
        self.connection.close()

    def _value(self, query: str, *arguments: object) -> Any:
        row = self.connection.execute(query.encode(), arguments).fetchone()
        return row[0] if row else None

    def clear(self) -> None:
        """Forget everything. Not by truncate, after which every function is planned anew."""
        if self.cleared % VACUUMED == 0:
            self.tables = self._value(TABLES).split(",")
            self.connection.execute(f"vacuum {', '.join(self.tables)}".encode())
        self.cleared += 1
        with self.connection.transaction():
            self.connection.execute(b"set local session_replication_role = replica")
            for table in self.tables:
                self.connection.execute(f"delete from {table}".encode())

    def put_account(self, account: Account) -> None:
        body = {
            "parent_id": account.parent.name if account.parent else None,
            "time_zone": account.zone,
            "cycle_anchor": account.anchor.isoformat(),
        }
        self._value("select preauth_api.put_account(%s, %s)", account.name, Jsonb(body))

    def put_budget(self, account: Account, budget: Budget, apply: str = "now") -> None:
        body = {
            "unit": budget.unit, "window": budget.policy, "limit_amount": budget.limit,
            "enforcement": budget.enforcement, "overdraft_amount": budget.overdraft,
            "on_expiry": budget.on_expiry, "thresholds": budget.thresholds, "apply": apply,
        }  # fmt: skip
        call = "select preauth_api.put_budget(%s, %s, %s)"
        assert "unit" in self._value(call, account.name, budget.name, Jsonb(body))

    def decide(self, n: int, account: Account, amount: int, ttl: int | None) -> Json:
        """Reserve (with a time to live) or charge (without)."""
        self.calls += 1
        arguments = (
            f"r{n}" if n >= 0 else f"d{self.calls}",
            account.name,
            Jsonb({"tokens": amount}),
        )
        if ttl is None:
            return self._value("select preauth_api.charge(%s, %s, %s)", *arguments)
        return self._value(
            "select preauth_api.reserve(%s, %s, %s, ttl_seconds => %s)", *arguments, ttl
        )

    def settle(self, request_id: str, amount: int) -> Json:
        return self._value(
            "select preauth_api.settle(%s, %s)", request_id, Jsonb({"tokens": amount})
        )

    def release(self, request_id: str) -> Json:
        return self._value("select preauth_api.release(%s, 'not sent')", request_id)

    def sweep(self) -> int:
        return self._value("select preauth_api.expire_due(1000)")

    def adjust(self, account: Account, budget: Budget, amount: int) -> None:
        """What an adjustment does to its window, and the event that says so."""
        self.calls += 1
        with self.connection.transaction():
            window_id = self._value(WINDOW, account.name, budget.name)
            self._value(
                "select count(*) from preauth._lock_windows(array[%s]::bigint[])", window_id
            )
            self._value(
                "select preauth._correct_settled(%s, %s, preauth._now())", window_id, amount
            )
            self.connection.execute(ADJUST.encode(), [f"a{self.calls}", amount, window_id])

    def balance(self, account: Account) -> dict[tuple[str, str], Json]:
        reply = self._value("select preauth_api.balance(%s, true)", account.name)
        return {(w["scope"], w["budget"]): w for w in reply["windows"]}

    def outbox(self) -> list[tuple[Any, ...]]:
        return self.connection.execute(
            "select account_id, body ->> 'budget', threshold from preauth.outbox"
        ).fetchall()

    def mismatches(self) -> list[tuple[Any, ...]]:
        return self.connection.execute("select * from preauth_api.verify()").fetchall()

    def move_to(self, instant: datetime) -> None:
        self.clock.set(instant)
