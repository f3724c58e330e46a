"""A small ledger with something of everything, and a good call of every function on it."""

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

__all__ = ["GOOD", "furnish"]

MONTH = {"kind": "calendar", "period": "month"}
CAP = {
    "name": "cap",
    "unit": "tokens",
    "window": {"kind": "lifetime"},
    "limit_amount": 1000,
    "on_expiry": "release",
    "overage": "reject",
}
USD = {
    "name": "usd",
    "unit": "usd_nano",
    "window": MONTH,
    "limit_amount": 10**9,
    "thresholds": [50, 80],
    "rollover": {"max": 5, "overspend": True},
}
OWN = {
    "unit": "tokens",
    "window": {"kind": "rolling", "seconds": 60, "slices": 6},
    "limit_amount": 500,
    "enforcement": "soft",
    "overdraft_amount": 50,
}
RATES = {
    "input_tokens": {"micro_usd": 250000, "per": 1000000},
    "output_tokens": {"micro_usd": 2000000, "per": 1000000, "required": False},
}
TIERS = [{"above_input_tokens": n, "rates": RATES} for n in (0, 1000)]
ASK = {"request_id": "new", "account_id": "ann", "amounts": {"tokens": 5, "usd_nano": 7}}
PRICED = {"max_usage": {"prompt_tokens": 9, "completion_tokens": 5}, "model": "m"}
FULL = {
    **ASK, **PRICED, "ttl_seconds": 60, "alternatives": [{"model": "m", "amounts": {"tokens": 1}}, {"max_usage": {"input_tokens": 1}}],
    "session_id": "s", "labels": {"team": "search"}, "dry_run": False,
}  # fmt: skip
SINCE, UNTIL = "2026-09-01T00:00:00Z", "2026-10-01T00:00:00Z"
CORRECTION = {
    "budget": "usd",
    "amount": -5,
    "reason": "why",
    "idempotency_key": "k1",
    "window": "2026-09",
}
SETTLED = {"request_id": "held", "account_id": "ann", "amounts": {"tokens": 4, "usd_nano": 5}}
ENDED = {"request_id": "held", "account_id": "ann"}

KEY = r"insert into preauth.api_key (key_id, name, role, key_hash, created_at) values ('key_1', 'n', 'audit', decode(repeat('ab', 32), 'hex'), preauth._now())"

GOOD: dict[str, list[dict[str, Any]]] = {
    "account": [{"account_id": "ann", "within": "org"}],
    "adjust": [{"account_id": "ann", "body": CORRECTION, "actor": "x"}],
    "apply_due": [{"max_count": 10}],
    "archive": [{"before": SINCE, "max_count": 10, "after": None}],
    "archive_figures": [{}],
    "audit_adjustments": [{"account_id": "ann", "since": SINCE, "until": UNTIL, "max_count": 5}],
    "audit_changes": [{"subject": "budget", "subject_id": "ann/own", "max_count": 5}],
    "audit_decisions": [{"account_id": "ann", "decision": "denied", "max_count": 5}, {"model": "m", "since": SINCE}],
    "audit_exceptions": [{"kind": "late", "max_count": 5}],
    "audit_prices": [{"since": SINCE, "until": UNTIL, "account_id": "ann"}],
    "audit_spend": [{"since": SINCE, "until": UNTIL, "by": "{day,label}", "label": "team", "time_zone": "Europe/Amsterdam"}],
    "audit_stuck": [{"account_id": "ann", "older_than_seconds": 0}],
    "audit_timeline": [{"request_id": "held", "account_id": "ann"}],
    "audit_verify": [{}],
    "audit_why_denied": [{"request_id": "denied", "max_count": 5}],
    "balance": [{"account_id": "ann", "audit": "true", "within": "org"}],
    "cancel": [ENDED],
    "cancel_many": [{"items": [ENDED, ENDED], "actors": "{x,y}", "within": "{org,NULL}"}],
    "charge": [ASK, {**ASK, "record": "true"}, {"request_id": "new", "account_id": "ann", "model": "m", "usage": {"input_tokens": 5}}],
    "charge_many": [{"items": [ASK, {**ASK, "request_id": "new2", "record": True}]}],
    "confirm_alerts": [{"message_ids": "{1,2}"}],
    "create_key": [{"name": "n", "role": "spend", "key_hash": "\\x" + "ef" * 32, "account_id": "ann"}],
    "delete_budget": [{"account_id": "ann", "name": "own", "actor": "x", "reason": "why"}],
    "delete_raise": [{"account_id": "ann", "name": "cap"}],
    "expire_due": [{"max_count": 10}],
    "extend": [{**ENDED, "ttl_seconds": 600}],
    "extend_many": [{"items": [{**ENDED, "ttl_seconds": 600}]}],
    "forget": [{"account_id": "bob", "reason": "why", "actor": "x"}],
    "key_by_hash": [{"key_hash": "\\x" + "ab" * 32}],
    "keys": [{}],
    "my_balance": [{}],
    "my_reservations": [{"max_count": 5, "cursor": None}],
    "plan": [{"plan_id": "p"}],
    "preview_budget": [{"body": CAP}, {"body": USD}],
    "price_table": [{"price_table_id": 1}],
    "price_tables": [{"model": "m", "at": UNTIL}],
    "publish_price_table": [{"body": {"model": "n", "rates": RATES, "aliases": ["nn"], "source": "s"}}, {"body": {"model": "m", "variant": "batch", "tiers": TIERS, "effective_from": UNTIL}}],
    "put_account": [{"account_id": "ann", "body": {"plan_id": "q", "parent_id": "org", "time_zone": "Asia/Tokyo", "cycle_anchor": "2026-01-31", "status": "active", "max_open_holds": 5, "reason": "why"}}],
    "put_budget": [{"account_id": "ann", "name": "own", "body": {**OWN, "apply": "now", "reason": "why"}}, {"account_id": "ann", "name": "usd", "body": {k: v for k, v in USD.items() if k != "name"}}],
    "put_plan": [{"plan_id": "p", "body": {"budgets": [CAP, USD], "unpriced": "refuse", "apply": "now"}}],
    "put_raise": [{"account_id": "ann", "name": "cap", "body": {"amount": 50, "expires_at": UNTIL, "reason": "why"}}],
    "release": [{**ENDED, "reason": "why"}],
    "release_many": [{"items": [{**ENDED, "reason": "why"}]}],
    "rerate": [{"wrong_table": 1, "right_table": 2, "since": SINCE, "until": UNTIL, "confirm": "true", "reason": "why"}],
    "reservation": [{"request_id": "held", "account_id": "ann", "within": "org"}],
    "reserve": [FULL, ASK],
    "reserve_many": [{"items": [FULL, ASK, {**ASK, "request_id": "new2"}], "actors": "{x,NULL,y}"}],
    "reset": [{"account_id": "ann", "body": {"budget": "usd", "reason": "why"}}],
    "resolve": [{**ENDED, "action": "settle", "amounts": {"tokens": 1, "usd_nano": 1}, "reason": "why"}, {"request_id": "unknown", "action": "release", "reason": "why"}],
    "resolve_many": [{"items": [{**ENDED, "action": "release", "reason": "why"}]}],
    "revision": [{}],
    "revoke_key": [{"key_id": "key_1"}],
    "settle": [SETTLED, {"request_id": "held", "outcome": "unknown", "provider_request_id": "z"}, {"request_id": "priced", "usage": {"input_tokens": 3}}],
    "settle_many": [{"items": [SETTLED, {"request_id": "released", "amounts": {"tokens": 1, "usd_nano": 1}}]}],
    "switch_plan": [{"account_id": "ann", "body": {"plan_id": "q", "apply": "next_window"}}, {"account_id": "ann", "body": {"plan_id": "q", "at": UNTIL}}],
    "take_alerts": [{"max_count": 10, "retry_seconds": 15}],
    "verify": [{}],
}  # fmt: skip


def furnish(connection: psycopg.Connection) -> None:
    """Make what the good calls speak of."""

    def call(function: str, *arguments: Any, **named: Any) -> None:
        given = [*("%s" for _ in arguments), *(f"{name} => %s" for name in named)]
        values = [
            Jsonb(v) if isinstance(v, (dict, list)) else v for v in (*arguments, *named.values())
        ]
        (reply,) = connection.execute(f"select preauth_api.{function}({', '.join(given)})".encode(), values).fetchone() or (None,)  # fmt: skip
        assert "title" not in reply or reply.get("decision") == "denied", reply

    call("put_plan", "p", {"budgets": [CAP, USD]})
    call("put_plan", "q", {"budgets": [{**USD, "limit_amount": None}]})
    call("put_account", "org", {})
    call(
        "put_budget",
        "org",
        "cap",
        {k: v for k, v in CAP.items() if k != "name"} | {"on_expiry": "keep"},
    )
    call("put_account", "ann", {"parent_id": "org", "plan_id": "p", "max_open_holds": 9})
    call("put_account", "bob", {"parent_id": "org", "plan_id": "q"})
    call("put_budget", "ann", "own", OWN)
    call("put_raise", "ann", "cap", {"amount": 5, "expires_at": UNTIL})
    for per in (1, 2):
        rates = {"input_tokens": {"micro_usd": 1, "per": per}}
        call(
            "publish_price_table",
            {"model": "m", "rates": rates, "effective_from": f"2026-01-0{per}T00:00:00Z"},
        )
    amounts = {"tokens": 5, "usd_nano": 7}
    for request_id in ("held", "settled", "released", "unknown"):
        call("reserve", request_id, "ann", amounts)
    call("reserve", request_id="priced", account_id="bob", model="m", max_usage={"input_tokens": 9})
    call("reserve", "denied", "ann", {"tokens": 5000, "usd_nano": 7})
    call("settle", "settled", amounts)
    call("release", "released", "not sent")
    call("settle", request_id="unknown", outcome="unknown")
    connection.execute(KEY.encode())
