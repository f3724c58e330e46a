"""Rows that cannot be are refused by the tables themselves, whoever writes them."""

import psycopg
import pytest

from tests.support import databases

WINDOW = """
insert into preauth.budget_window
  (account_id, budget_id, ordinal, depth, window_key, starts_at, ends_at, time_zone,
   settled, reserved, limit_amount, overdraft_amount, alert_at, slice_length, slice_count)
values ('ann', 1, 1, 1, '2026', {starts_at}, '2027-01-01', 'UTC',
   {settled}, {reserved}, {limit_amount}, {overdraft_amount}, {alert_at}, {slice_length}, {slice_count})
"""
SOUND_WINDOW = {
    "starts_at": "'2026-01-01'", "settled": "0", "reserved": "0", "limit_amount": "null",
    "overdraft_amount": "null", "alert_at": "null", "slice_length": "null", "slice_count": "null",
}  # fmt: skip
RESERVATION = """
insert into preauth.reservation
  (request_id, account_id, call, body, state, option_no, created_at, actor, denial, closure)
values ('r', 'ann', {call}, '{{}}', {state}, 0, now(), 'test', {denial}, {closure})
"""
SOUND_RESERVATION = {
    "call": "'reserve'", "state": "'authorized'", "denial": "null", "closure": "null",
}  # fmt: skip
LINE = """
insert into preauth.hold_line
  (request_id, account_id, position, window_id, amount, state, lapses_at, settled_amount, created_at)
values ('r', 'ann', 1, 1, {amount}, {state}, {lapses_at}, {settled_amount}, now())
"""
SOUND_LINE = {"amount": "0", "state": "'held'", "lapses_at": "null", "settled_amount": "null"}
EVENT = """
insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor)
values ('ann', 'r', {kind}, {window_id}, '{{}}', now(), 'test')
"""
SOUND_EVENT = {"kind": "'settlement'", "window_id": "null"}
TABLES = {
    "window": (WINDOW, SOUND_WINDOW),
    "reservation": (RESERVATION, SOUND_RESERVATION),
    "line": (LINE, SOUND_LINE),
    "event": (EVENT, SOUND_EVENT),
}
LARGEST = 2**53 - 1


@pytest.fixture
def connection(cluster):
    with (
        databases.temporary(cluster, databases.template(cluster, "sql")) as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        yield connection


def insert(connection, table, **changed):
    statement, sound = TABLES[table]
    connection.execute(statement.format(**{**sound, **changed}))


@pytest.mark.parametrize(
    ("table", "changed"),
    [
        ("window", {}),
        ("window", {"limit_amount": LARGEST, "overdraft_amount": LARGEST, "alert_at": 1}),
        ("window", {"settled": -7 * 10**18, "reserved": 2 * 10**18}),
        ("window", {"slice_length": "interval '1 hour'", "slice_count": 24}),
        ("reservation", {}),
        ("reservation", {"call": "'charge'", "state": "'settled'", "closure": "'{}'"}),
        ("reservation", {"state": "'denied'", "denial": "'{}'"}),
        ("line", {}),
        ("line", {"amount": LARGEST, "lapses_at": "now()"}),
        ("line", {"state": "'settled'", "settled_amount": LARGEST}),
        ("event", {}),
        ("event", {"kind": "'adjustment'", "window_id": 1}),
    ],
)
def test_a_row_that_can_be_is_taken(connection, table, changed):
    insert(connection, table, **changed)


@pytest.mark.parametrize(
    ("table", "changed"),
    [
        ("window", {"starts_at": "'2027-01-01'"}),
        ("window", {"settled": -7 * 10**18 - 1}),
        ("window", {"settled": 7 * 10**18 + 1}),
        ("window", {"reserved": -1}),
        ("window", {"reserved": 2 * 10**18 + 1}),
        ("window", {"limit_amount": -1}),
        ("window", {"limit_amount": LARGEST + 1}),
        ("window", {"overdraft_amount": -1}),
        ("window", {"overdraft_amount": LARGEST + 1}),
        ("window", {"alert_at": 0}),
        ("window", {"slice_length": "interval '1 hour'"}),
        ("window", {"slice_count": 24}),
        ("reservation", {"call": "'spend'"}),
        ("reservation", {"state": "'lost'"}),
        ("reservation", {"state": "'denied'"}),
        ("reservation", {"denial": "'{}'"}),
        ("reservation", {"state": "'settled'"}),
        ("line", {"amount": -1}),
        ("line", {"amount": LARGEST + 1}),
        ("line", {"state": "'lost'"}),
        ("line", {"state": "'released'", "lapses_at": "now()"}),
        ("line", {"state": "'settled'"}),
        ("line", {"settled_amount": 1}),
        ("line", {"state": "'settled'", "settled_amount": -1}),
        ("line", {"state": "'settled'", "settled_amount": LARGEST + 1}),
        ("event", {"kind": "'gift'"}),
        ("event", {"kind": "'adjustment'"}),
        ("event", {"window_id": 1}),
    ],
)
def test_a_row_that_cannot_be_is_refused(connection, table, changed):
    with pytest.raises(psycopg.errors.CheckViolation):
        insert(connection, table, **changed)
