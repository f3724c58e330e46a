"""Whatever the arguments of a SQL function are: a documented outcome, and a refusal writes nothing.

``PREAUTH_TEST_EXAMPLES`` (see tests/fuzz/openapi) times a hundred stories are drawn.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from service.api.problems import CODES, TYPE_BASE
from tests.fuzz.sql.good import GOOD, furnish
from tests.fuzz.sql.odd import ODD, mutated
from tests.support.ledger import TABLES

NIGHTLY = "PREAUTH_TEST_EXAMPLES" in os.environ
STORIES = int(os.environ.get("PREAUTH_TEST_EXAMPLES", "2")) * 100
SIGNATURES = """
    select p.proname, p.proargnames[:p.pronargs], array(
      select format_type(t.type, null) from unnest(p.proargtypes::oid[]) with ordinality as t (type, place) order by t.place)
    from pg_proc as p where p.pronamespace = 'preauth_api'::regnamespace"""
RECORDED = {"settlement_conflict", "settlement_exceeds_hold"}
"""Refusals that leave a trace: the attempt itself."""
READS_BEGIN = ("audit_", "archive_figures", "balance", "account", "plan", "price_table", "reservation", "key", "my_", "preview", "revision", "verify")  # fmt: skip

Call = tuple[str, dict[str, str | None]]


@pytest.fixture
def connection(database_url: str, clock: Any) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url) as connection:
        furnish(connection)
        connection.commit()
        yield connection


@pytest.fixture
def types(connection: psycopg.Connection) -> dict[str, dict[str, str]]:
    """The type of every argument of every function."""
    found = connection.execute(SIGNATURES.encode()).fetchall()
    return {
        name: dict(zip(arguments or [], kinds, strict=True)) for name, arguments, kinds in found
    }


def test_a_good_call_of_every_function_is_answered(connection, types):
    assert GOOD.keys() == types.keys()
    for function, variants in GOOD.items():
        for arguments in variants:
            assert arguments.keys() <= types[function].keys()
            with connection.transaction(force_rollback=True):
                for body in answers(connection, types, (function, as_text(arguments))):
                    assert not is_problem(body) or body["status"] in {402, 403, 409, 429}, (
                        function,
                        body,
                    )


def as_text(arguments: dict[str, Any]) -> dict[str, str | None]:
    return {
        name: value if value is None or isinstance(value, str) else json.dumps(value)
        for name, value in arguments.items()
    }


@st.composite
def calls(draw: st.DrawFn, types: dict[str, dict[str, str]]) -> Call:
    """A good call, with one argument or more that are not."""
    function = draw(st.sampled_from(sorted(GOOD)))
    given: dict[str, Any] = dict(draw(st.sampled_from(GOOD[function])))
    text = as_text(given)
    names = sorted(types[function])
    for name in draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) if names else []:
        good = given.get(name)
        odd: st.SearchStrategy[str | None] = st.none() | ODD[types[function][name]]
        if isinstance(good, (dict, list)):
            odd = st.one_of(mutated(good), mutated(good), mutated(good), odd)
        text[name] = draw(odd)
    return function, text


@pytest.mark.slow
def test_every_outcome_is_documented_and_a_refusal_writes_nothing(connection, types):
    every_type = {kind for arguments in types.values() for kind in arguments.values()}
    assert every_type == ODD.keys()

    @settings(
        max_examples=STORIES, deadline=None, derandomize=not NIGHTLY, database=None,
        phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(calls(types), min_size=1, max_size=3))
    def told(story: list[Call]) -> None:
        with connection.transaction(force_rollback=True):
            for call in story:
                judge(connection, types, call)
            assert connection.execute("select * from preauth_api.verify()").fetchall() == []

    told()


def judge(connection: psycopg.Connection, types: dict[str, dict[str, str]], call: Call) -> None:
    before = digest(connection)
    found, error = tried(connection, types, call)
    if error is not None:
        assert is_argument_error(error), (call, error.sqlstate, str(error))
        return
    for body in found:
        if is_problem(body) and body.get("decision") != "denied":
            code = body["type"].removeprefix(TYPE_BASE)
            assert CODES[code][0] == body["status"], body
            assert code != "internal"
    if call[0].startswith(READS_BEGIN) or all(map(refuses, found)):
        assert digest(connection) == before, (call, found)


def tried(
    connection: psycopg.Connection, types: dict[str, dict[str, str]], call: Call
) -> tuple[list[Any], psycopg.Error | None]:
    """The answers, or the exception."""
    try:
        with connection.transaction():
            found = answers(connection, types, call)
            connection.execute("set constraints all immediate")
    except psycopg.Error as error:
        return [], error
    return found, None


def is_argument_error(error: psycopg.Error) -> bool:
    """Our own word for misuse, or PostgreSQL's before the function was even called."""
    before = "function" not in (error.diag.context or "")
    return error.sqlstate == "PA001" or (before and (error.sqlstate or "")[:2] in {"22", "54"})


def is_problem(body: Any) -> bool:
    return isinstance(body, dict) and "title" in body


def refuses(body: Any) -> bool:
    return (
        is_problem(body)
        and body.get("decision") != "denied"
        and not body["type"].endswith(tuple(RECORDED))
    )


def answers(
    connection: psycopg.Connection, types: dict[str, dict[str, str]], call: Call
) -> list[Any]:
    """The bodies that a function answers with, one for each item of a batch."""
    function, arguments = call
    named = ", ".join(f"{name} => %s::text::{types[function][name]}" for name in arguments)
    cursor = connection.execute(f"select * from preauth_api.{function}({named})".encode(), list(arguments.values()))  # fmt: skip
    names = [column.name for column in cursor.description or ()]
    rows = cursor.fetchall()
    if not {"status", "body"} <= set(names):
        return [row[0] for row in rows]
    status, body = names.index("status"), names.index("body")
    for row in rows:
        assert row[status] == (row[body]["status"] if is_problem(row[body]) else 200), row
    return [row[body] for row in rows]


def digest(connection: psycopg.Connection) -> Any:
    """One figure of all rows: equal figures, nothing written."""
    tables = [name for (name,) in connection.execute(TABLES).fetchall()]
    rows = " union all ".join(
        f"select '{name}' || t::text as r from preauth.{name} as t" for name in sorted(tables)
    )
    return connection.execute(
        f"select md5(string_agg(r, '' order by r)) from ({rows}) as x".encode()
    ).fetchone()
