"""Two ways to the same answer: what a batch would answer and write if a function were another one."""

from collections.abc import Sequence
from typing import Any

from tests.support.ledger import Ledger

__all__ = ["outcome"]

REPLACED = """
create or replace function preauth.{}
language plpgsql set search_path = pg_catalog, pg_temp as $$ begin {}; end $$"""
TABLES = {
    "budget_window": "t.window_id",
    "hold_line": "t.created_at, t.request_id, t.account_id, t.position",
    "reservation": "t.request_id, t.account_id",
    "usage_event": "t.event_id",
    "reservation_event": "t.event_id",
    "window_slice": "t.window_id, t.ages_at",
    "outbox": "t.message_id",
}
SAME_IDS = """
select setval(pg_get_serial_sequence('preauth.budget_window', 'window_id'), max(window_id))
from preauth.budget_window"""
"""Sequences are not undone."""
Outcome = tuple[list[tuple[Any, ...]], dict[str, str | None]]


async def outcome(
    ledger: Ledger,
    call: str,
    batch: object,
    *replaced: tuple[str, str],
    within: Sequence[str | None] | None = None,
) -> Outcome:
    """The answers to a batch, as text, and every row after it; all of it is undone.

    ``replaced``: functions, each by its name, arguments and result, and what it does instead.
    """
    transaction = ledger.connection.transaction()
    await transaction.start()
    try:
        for function, body in replaced:
            await ledger.connection.execute(REPLACED.format(function, body))
        await ledger.connection.execute(SAME_IDS)
        rows = await ledger.connection.fetch(
            "select n, status, headers::text as headers, body::text as body, root"
            f" from preauth_api.{call}_many($1, within => $2)",
            batch,
            within,
        )
        return [tuple(row) for row in rows], {
            table: await ledger.connection.fetchval(
                "select string_agg((to_jsonb(t) - 'event_id' - 'message_id')::text, E'\\n'"
                f" order by {order}) from preauth.{table} as t"
            )
            for table, order in TABLES.items()
        }
    finally:
        await transaction.rollback()
