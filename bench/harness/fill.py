"""A ledger with a past: copies of one settled reservation, in bulk, and the windows to match."""

from bench.harness.database import Database

__all__ = ["LARGEST_ID", "fill"]

LARGEST_ID = 2**60 - 1
"""Ids of the past are random numbers up to here, so that new ones fall between them."""

COLUMNS = """
select quote_ident(attname::text) from pg_attribute
where attrelid = %s::regclass and attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''
order by attnum"""  # noqa: E501

COPY = """
insert into {table} ({columns})
select {values}
from {table} as past
cross join generate_series(1, {count}) as i
cross join lateral (
  select ('x' || substr(md5(i::text), 1, 15))::bit(60)::bigint::text as request_id,
    'a' || (1 + i % {accounts}) as account_id,
    first.created_at - interval '1 day' * (i::double precision / {count}) as at
  from preauth.reservation as first where first.request_id = 'first' and first.account_id = 'a1'
) as made
{windows}
where past.request_id = 'first' and past.account_id = 'a1'"""

WINDOWS = "join preauth.budget_window as w on w.account_id = made.account_id"

CLOSURE = "jsonb_build_object('amounts', past.closure -> 'amounts')"
"""Short, so that no page of the past has room for a new row: in a ledger that has grown by itself,
new rows don't lie scattered over the whole past either."""

TABLES: dict[str, dict[str, str]] = {
    "preauth.reservation": {"created_at": "made.at", "closure": CLOSURE},
    "preauth.hold_line": {"window_id": "w.window_id", "created_at": "made.at"},
    "preauth.usage_event": {"occurred_at": "made.at"},
}

SETTLED = """
update preauth.budget_window as w
set settled = l.settled, reserved = l.reserved
from (
  select h.window_id, coalesce(sum(h.settled_amount), 0) as settled,
    coalesce(sum(h.amount) filter (where h.state = 'held'), 0) as reserved
  from preauth.hold_line as h group by h.window_id
) as l
where l.window_id = w.window_id"""


def fill(database: Database, count: int, accounts: int) -> None:
    """So many settled reservations, with a line and a usage event each, by ``a1`` and so on.

    ``seed`` came before: every account has reserved ``first`` on its one budget.
    """
    settled = "select preauth_api.settle(%s, account_id => %s, amounts => '{\"usd_nano\": 500}')"
    database.execute(settled, "first", "a1")
    for table, others in TABLES.items():
        database.execute(_copy(database, table, others, count - 1, accounts))
    database.execute(SETTLED)
    database.execute("vacuum (analyze)")
    database.execute("checkpoint")


def _copy(database: Database, table: str, others: dict[str, str], count: int, accounts: int) -> str:
    changed = {"request_id": "made.request_id", "account_id": "made.account_id", **others}
    columns = [str(row[0]) for row in database.execute(COLUMNS, table)]
    return COPY.format(
        table=table,
        columns=", ".join(columns),
        values=", ".join(changed.get(column, f"past.{column}") for column in columns),
        count=count,
        accounts=accounts,
        windows=WINDOWS if "window_id" in others else "",
    )
