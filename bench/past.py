"""A ledger with a past for the audit: accounts of one organisation, denials, what proved them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from bench.harness.database import Database

__all__ = ["ACCOUNTS", "DENIALS", "furnish", "grow"]

ACCOUNTS = 1000
DENIALS = 100
"""Of each budget, at instants all over the past."""
AMOUNT = 1000
OWN_LIMIT = 9_000_000_000_000_000
SHARED_LIMIT = OWN_LIMIT // 2

INTERVAL = "interval '8640 microseconds'"
"""Between two decisions, so that ten million make a day."""
HELD = "interval '1 minute'"
"""From a decision to its settlement: seven holds an account are open at any instant."""

PAST = f"""
create temporary table made on commit drop as
select ('x' || substr(md5(i::text), 1, 15))::bit(60)::bigint::text as request_id,
  'a' || (1 + i %% {ACCOUNTS}) as account_id,
  first.created_at - {HELD} - {INTERVAL} * (%(count)s - i) as at
from generate_series(1, %(count)s::integer) as i
cross join (select min(r.created_at) as created_at from preauth.reservation as r) as first
"""

RESERVATIONS = f"""
insert into preauth.reservation
  (request_id, account_id, call, body, state, option_no, on_expiry, created_at, expires_at, actor,
   closure)
select made.request_id, made.account_id, r.call, r.body, r.state, r.option_no, r.on_expiry,
  made.at, made.at + (r.expires_at - r.created_at), r.actor,
  r.closure || jsonb_build_object('settled_at', preauth._time(made.at + {HELD}))
from made cross join preauth.reservation as r
where r.request_id = 'first' and r.account_id = 'a1'
"""

LINES = f"""
insert into preauth.hold_line
  (request_id, account_id, position, window_id, amount, available_after, state, settled_amount,
   created_at)
select made.request_id, made.account_id, l.position, coalesce(w.window_id, l.window_id), l.amount,
  {SHARED_LIMIT}, l.state, l.settled_amount, made.at
from made cross join preauth.hold_line as l
left join preauth.budget_window as w on w.account_id = made.account_id and l.position = 1
where l.request_id = 'first' and l.account_id = 'a1'
"""

EVENTS = f"""
insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor)
select made.account_id, made.request_id, u.kind, u.amounts, u.outcome, made.at + {HELD}, u.actor
from made cross join preauth.usage_event as u
where u.request_id = 'first' and u.account_id = 'a1'
order by made.at
"""

PROOF = f"""
insert into preauth.reservation
  (request_id, account_id, call, body, state, option_no, created_at, actor, denial)
select past.kind || '-' || d.n, d.account_id, r.call, r.body, r.state, r.option_no, d.at, r.actor,
  r.denial || jsonb_build_object('scope', s.scope,
    'available',
    (r.denial ->> 'limit')::bigint - (r.denial ->> 'settled')::bigint - {AMOUNT} * o.holds)
from (values ('own', 'a1'), ('shared', 'a2')) as past (kind, account_id)
join preauth.reservation as r on r.request_id = 'denied' and r.account_id = past.account_id
cross join (
  select n, 'a' || (1 + n * 97 %% {ACCOUNTS}) as account_id,
    first.at - {HELD} - {INTERVAL} * (%s::integer * (n - 0.5) / {DENIALS}) as at
  from generate_series(1, {DENIALS}) as n
  cross join (
    select min(f.created_at) as at from preauth.reservation as f where f.request_id = 'first'
  ) as first
) as d
cross join lateral (select case past.kind when 'own' then d.account_id else 'org' end) as s (scope)
cross join lateral (
  select count(*) from preauth.reservation as h
  where h.created_at < d.at and h.created_at > d.at - {HELD} and h.denial is null
    and (past.kind = 'shared' or h.account_id = d.account_id)
) as o (holds)
"""

FIGURES = """
update preauth.budget_window as w
set settled = l.settled
from (
  select h.window_id, sum(h.settled_amount) as settled
  from preauth.hold_line as h where h.state = 'settled' group by h.window_id
) as l
where l.window_id = w.window_id
"""


GROWING = ", ".join(
    f"'preauth.{table}'::regclass" for table in ("reservation", "hold_line", "usage_event")
)
KEYS = f"""
select t.relname, c.conname, pg_get_constraintdef(c.oid)
from pg_constraint as c join pg_class as t on t.oid = c.conrelid
where c.contype = 'p' and c.conrelid in ({GROWING}) order by 1, 2
"""
INDEXES = f"""
select c.relname, pg_get_indexdef(i.indexrelid)
from pg_index as i join pg_class as c on c.oid = i.indexrelid
where not i.indisprimary and i.indrelid in ({GROWING}) order by 1
"""
BOUNDS = "set statement_timeout = '20min'; set maintenance_work_mem = '256MB'"
"""No step of ten million takes a quarter of that on two cores."""


def furnish(database: Database) -> None:
    """Accounts, of which each has asked once, a settlement, and a denial of each kind."""
    for name, limit in (("org", SHARED_LIMIT), ("member", OWN_LIMIT)):
        database.execute("select preauth_api.put_plan(%s, %s)", name, json.dumps(_plan(limit)))
    database.execute("select preauth_api.put_account('org', '{\"plan_id\": \"org\"}')")
    body = json.dumps({"plan_id": "member", "parent_id": "org"})
    database.execute(
        "select count(preauth_api.put_account('a' || i, %s)) from generate_series(1, %s) as i",
        body,
        ACCOUNTS,
    )
    names = [f"a{n}" for n in range(1, ACCOUNTS + 1)]
    for start in range(0, ACCOUNTS, 500):
        items = [_ask("first", name, AMOUNT) for name in names[start : start + 500]]
        database.execute("select count(*) from preauth_api.reserve_many(%s)", json.dumps(items))
    database.execute(
        "select preauth_api.settle('first', account_id => 'a1', amounts => %s)",
        json.dumps({"usd_nano": AMOUNT // 2}),
    )
    items = [_ask("denied", "a1", OWN_LIMIT), _ask("denied", "a2", SHARED_LIMIT)]
    database.execute("select count(*) from preauth_api.reserve_many(%s)", json.dumps(items))


def grow(database: Database, count: int) -> None:
    """So many settled reservations before that, and ``DENIALS`` of each kind among them."""
    with database.connect() as connection:
        connection.execute(BOUNDS)
        with connection.transaction(), _without_keys(connection):
            connection.execute(PAST, {"count": count}, prepare=False)
            for statement in (RESERVATIONS, LINES, EVENTS, FIGURES):
                connection.execute(statement)
    database.execute("vacuum (analyze)")
    database.execute(PROOF, count)
    database.execute("vacuum (analyze)")
    database.execute("checkpoint")


@contextmanager
def _without_keys(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Ten million random keys are sorted in a tenth of the time that it takes to insert them."""
    keys = connection.execute(KEYS).fetchall()
    indexes = connection.execute(INDEXES).fetchall()
    for table, name, _ in keys:
        connection.execute(f"alter table preauth.{table} drop constraint {name}".encode())
    for name, _ in indexes:
        connection.execute(f"drop index preauth.{name}".encode())
    yield
    for table, name, definition in keys:
        added = f"alter table preauth.{table} add constraint {name} {definition}"
        connection.execute(added.encode())
    for _, definition in indexes:
        connection.execute(definition.encode())


def _plan(limit: int) -> dict[str, object]:
    window = {"kind": "lifetime"}
    budget = {"name": "cap", "unit": "usd_nano", "window": window, "limit_amount": limit}
    return {"budgets": [budget]}


def _ask(request_id: str, account_id: str, amount: int) -> dict[str, object]:
    return {
        "request_id": request_id,
        "account_id": account_id,
        "amounts": {"usd_nano": amount},
        "ttl_seconds": 3600,
    }
