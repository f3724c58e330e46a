"""Plans and accounts, and their windows, made before anything is measured."""

import json

from bench.harness.database import Database

__all__ = ["AMOUNT", "AMOUNTS", "LIMIT", "TTL_SECONDS", "seed"]

ACCOUNTS = 10_000
TEAMS = 100
AMOUNT = 1000
AMOUNTS = json.dumps({"usd_nano": AMOUNT})
TTL_SECONDS = 3600
"""So that no hold lapses while something is measured."""
LIMIT = 9_000_000_000_000_000
PERIODS = ("month", "day", "year", "week")
MOST_AT_ONCE = 512

_MANY = """
insert into preauth.account (account_id, parent_id, plan_id, path, time_zone, status, created_at)
select c.id, p.path[1], 'plan-1', array[c.id] || coalesce(p.path, '{}'), 'UTC', 'active', now()
from (
  select %s::text || i as id, %s::text || (1 + i %% %s::integer) as parent
  from generate_series(1, %s::integer) as i
) as c
left join preauth.account as p on p.account_id = c.parent
"""


def seed(database: Database, accounts: int = ACCOUNTS, users: int | None = None) -> None:
    """Accounts.

    - ``hot``; ``a1`` to ``a<accounts>``: one budget
    - ``hot-2`` to ``hot-4``: so many budgets
    - ``leaf`` below ``team`` below ``root``: one budget each
    - ``u1`` to ``u<users>`` below ``t1`` to ``t100`` below ``top1``: one budget each
    """
    for number in range(1, len(PERIODS) + 1):
        _plan(database, number)
        _account(database, "hot" if number == 1 else f"hot-{number}", f"plan-{number}")
    _account(database, "root", "plan-1")
    _account(database, "team", "plan-1", "root")
    _account(database, "leaf", "plan-1", "team")
    _accounts(database, "a", accounts)
    _accounts(database, "top", 1)
    _accounts(database, "t", TEAMS, "top", 1)
    _accounts(database, "u", accounts if users is None else users, "t", TEAMS)
    _open_windows(database)
    database.execute("vacuum analyze")


def _open_windows(database: Database) -> None:
    """One reservation by every account: from then on nothing is done for the first time."""
    rows = database.execute("select account_id from preauth.account order by account_id")
    names = [row[0] for row in rows]
    with database.connect() as connection:
        for start in range(0, len(names), MOST_AT_ONCE):
            items = [_item(name) for name in names[start : start + MOST_AT_ONCE]]
            connection.execute(
                "select count(*) from preauth_api.reserve_many(%s)", [json.dumps(items)]
            )


def _item(account_id: str) -> dict[str, object]:
    return {
        "request_id": "first",
        "account_id": account_id,
        "amounts": {"usd_nano": AMOUNT},
        "ttl_seconds": TTL_SECONDS,
    }


def _plan(database: Database, budgets: int) -> None:
    body = {
        "budgets": [
            {
                "name": period,
                "unit": "usd_nano",
                "window": {"kind": "calendar", "period": period},
                "limit_amount": LIMIT,
            }
            for period in PERIODS[:budgets]
        ]
    }
    database.execute("select preauth_api.put_plan(%s, %s)", f"plan-{budgets}", json.dumps(body))


def _account(database: Database, name: str, plan: str, parent: str | None = None) -> None:
    body = {"plan_id": plan, "parent_id": parent}
    database.execute("select preauth_api.put_account(%s, %s)", name, json.dumps(body))


def _accounts(
    database: Database, prefix: str, count: int, parent: str | None = None, parents: int = 1
) -> None:
    """In one statement: the call for one account takes a table lock."""
    database.execute(_MANY, prefix, parent, parents, count)
