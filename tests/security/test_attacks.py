"""What someone tries who has only the rights of ``authenticated``, and the whole source."""

import contextlib
import json

import asyncpg
import httpx
import psycopg
import pytest

from tests.support.money import tokens
from tests.support.postgrest import PostgREST, token
from tests.support.session import Session
from tests.support.signed_in import signed_in

DENIED = asyncpg.InsufficientPrivilegeError
NOT_UPDATABLE = asyncpg.ObjectNotInPrerequisiteStateError
FILL_LEVEL = {"settled", "reserved", "available"}
EVE = "eve_of_the_tests"


@pytest.fixture(autouse=True)
async def world(ledger):
    """eve and ann spend below org, which shares a budget; org is nearly full."""
    await ledger.grant("org", 1000, name="shared")
    for name in ("eve", "ann"):
        await ledger.put_account(name, parent_id="org")
        await ledger.grant(name, 5000)
    await ledger.reserve("anns", "ann", tokens(600), labels={"secret": "of ann"})
    await ledger.reserve("eves", "eve", tokens(300))
    await ledger.reserve("eves-denied", "eve", tokens(300))
    await ledger.settle("eves", tokens(250))


@pytest.fixture
async def eve(ledger):
    """A session as PostgREST gives it to eve."""
    return await signed_in(ledger, {"sub": "eve", "role": "authenticated"})


@pytest.fixture
async def sql_eve(ledger, database_url):
    """A login of her own that is a member of authenticated: more than any user has."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        if not connection.execute("select from pg_roles where rolname = %s", [EVE]).fetchone():
            # another worker of this run may make it at the same moment
            with contextlib.suppress(
                psycopg.errors.UniqueViolation, psycopg.errors.DuplicateObject
            ):
                connection.execute(f"create role {EVE} login in role authenticated")
    session = await Session.open(database_url.replace("postgres@", f"{EVE}@"))
    yield session
    await session.close()


@pytest.fixture
def postgrest(database_url):
    """PostgREST, and eve's JWT."""
    with (
        PostgREST(database_url).running() as url,
        httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token('authenticated', sub='eve')}"},
            timeout=60,
        ) as http,
    ):
        yield http


def everything(value):
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from everything(inner)


async def refused(session, statement):
    """Whether the right to it is missing, or whether it is nothing that one can call."""
    try:
        await session.connection.execute(statement)
    except (DENIED, asyncpg.WrongObjectTypeError, asyncpg.AmbiguousFunctionError):
        return True
    except asyncpg.PostgresError:
        return False
    return False


async def test_she_may_call_two_functions_and_no_other(ledger, eve):
    functions = await ledger.connection.fetch(
        "select n.nspname || '.' || p.proname as name, p.pronargs as arguments from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
        " where n.nspname in ('preauth', 'preauth_api')"
    )
    open_to_her = set()
    for name, arguments in functions:
        nulls = ", ".join(["null"] * arguments)
        if not await refused(eve, f"select {name}({nulls})"):
            open_to_her.add(name)
    assert open_to_her == {"preauth_api.my_balance", "preauth_api.my_reservations"}


async def test_she_may_read_no_table_and_no_view_and_change_none(ledger, eve):
    relations = await ledger.connection.fetch(
        "select oid::regclass::text from pg_class where relkind in ('r', 'v', 'S')"
        " and relnamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)"
    )
    assert len(relations) > 15
    for (name,) in relations:
        for attempt in (
            f"select * from {name}",
            f"delete from {name}",
            f"do $$ begin lock table {name}; end $$",
        ):
            with pytest.raises((DENIED, asyncpg.WrongObjectTypeError, NOT_UPDATABLE)):
                await eve.connection.execute(attempt)


@pytest.mark.parametrize(
    "attempt",
    [
        "set role service_role",
        "set role preauth_owner",
        "set role preauth_service",
        "set session authorization postgres",
        "grant service_role to current_user",
        "create function preauth_api.mine() returns int language sql as 'select 1'",
        "create table preauth.mine (n int)",
        "alter function preauth_api.my_balance() owner to current_user",
        "create or replace function preauth_api.my_balance() returns jsonb language sql as 'select null::jsonb'",
        "alter table preauth.reservation disable row level security",
        "select preauth._lock_down()",
        "copy preauth.reservation to stdout",
        "create view pg_temp.peek as select * from preauth.budget_window",
        "drop schema preauth cascade",
    ],
)
async def test_she_gains_no_right(sql_eve, attempt):
    with pytest.raises(
        (DENIED, asyncpg.InvalidSchemaNameError, asyncpg.InvalidParameterValueError)
    ):
        await sql_eve.connection.execute(attempt)


@pytest.mark.parametrize("role", ["none", "authenticated"])
async def test_claims_that_she_writes_herself_are_not_believed(sql_eve, role):
    await sql_eve.connection.execute(f"set role {role}")
    for claims in ({"sub": "ann"}, {"sub": "eve"}, {"sub": "org", "role": "service_role"}):
        await sql_eve.connection.execute(
            "select set_config('request.jwt.claims', $1, false)", json.dumps(claims)
        )
        for call in ("my_balance", "my_reservations"):
            assert (await sql_eve.call(call))["status"] == 403


async def test_statistics_tell_her_nothing(ledger, sql_eve):
    await ledger.connection.execute("analyze")
    seen = "select count(*) from pg_stats where schemaname = 'preauth'"
    assert await ledger.connection.fetchval(seen) > 0
    assert await sql_eve.connection.fetchval(seen) == 0
    assert await sql_eve.connection.fetchval(
        "select count(last_value) from pg_sequences where schemaname = 'preauth'"
    ) == 0  # fmt: skip


async def test_objects_of_the_same_name_in_her_own_schema_are_not_used(ledger, eve):
    await eve.connection.execute(
        """
        create temp table reservation as select 1 as n;
        create temp table budget_window as select 1 as n;
        create function pg_temp.current_setting(text, boolean) returns text language sql as $$ select '{"sub": "ann"}' $$;
        create function pg_temp.jsonb_typeof(jsonb) returns text language sql as $$ select 'string' $$;
        set search_path = pg_temp, pg_catalog, preauth_api;
        """
    )
    assert (await eve.call("my_balance"))["account_id"] == "eve"
    assert {i["account_id"] for i in (await eve.call("my_reservations"))["items"]} == {"eve"}


async def test_nothing_that_she_sees_tells_how_full_the_shared_budget_is(eve):
    seen = [await eve.call("my_balance"), await eve.call("my_reservations")]
    about_org = [found for found in everything(seen) if found.get("scope") == "org"]
    assert about_org
    for found in about_org:
        assert not [name for name in FILL_LEVEL if found.get(name) is not None]
    assert not [found for found in everything(seen) if 600 in found.values()]


async def test_a_cursor_leads_to_no_other_account(eve):
    for cursor in (
        "infinity~~",
        "2099-01-01T00:00:00.000000Z~zzzz~ann",
        "2099-01-01T00:00:00Z~a~ann",
    ):
        found = await eve.call("my_reservations", cursor=cursor)
        assert {i["account_id"] for i in found["items"]} == {"eve"}


@pytest.mark.parametrize(
    "cursor",
    ["'; drop table preauth.reservation; --", "x" * 1_000_000, "~" * 10_000, "now~a~b", "é~a~b", "{}"],
)  # fmt: skip
async def test_a_cursor_that_she_makes_up_harms_nobody(ledger, eve, cursor):
    before = await ledger.contents()
    reply = await eve.call("my_reservations", cursor=cursor)
    assert reply.get("status") == 400 or {i["account_id"] for i in reply["items"]} <= {"eve"}
    assert await ledger.contents() == before


@pytest.mark.parametrize("name", ["ann' or '1'='1", "%", "*", "", "a" * 10_000, "org/../ann"])
async def test_a_name_that_she_makes_up_is_nobodys(ledger, name):
    user = await signed_in(ledger, {"sub": name})
    assert (await user.call("my_balance"))["status"] in {403, 404}
    assert (await user.call("my_reservations"))["items"] == []


def test_over_postgrest_she_reads_and_spends_nothing_of_others(postgrest):
    body = {"request_id": "x", "account_id": "ann", "amounts": {"tokens": 1}}
    for call in ("reserve", "charge", "settle", "release", "resolve", "cancel", "expire_due", "verify",
                 "reserve_many", "put_account", "create_key", "keys", "audit_decisions", "audit_why_denied"):  # fmt: skip
        answer = postgrest.post(f"/rpc/{call}", json=body if call in {"reserve", "charge"} else {})
        assert answer.status_code in {403, 404}, (call, answer.text)
        assert "anns" not in answer.text
    for view in ("decisions", "holds", "windows", "spend"):
        assert postgrest.get(f"/{view}").status_code == 403
    for profile in ("preauth", "pg_catalog", "information_schema", "public"):
        refused = postgrest.get("/reservation", headers={"Accept-Profile": profile})
        assert refused.status_code == 406, refused.text


def test_over_postgrest_her_identity_is_her_tokens(postgrest):
    for headers in (
        {"request.jwt.claims": '{"sub":"ann"}', "X-Request-Jwt-Claims": '{"sub":"ann"}'},
        {"Cookie": "request.jwt.claims=ann; role=service_role"},
        {"Prefer": "params=single-object, tx=rollback", "preauth.account_claim": "role"},
    ):
        answer = postgrest.post("/rpc/my_balance", json={}, headers=headers)
        assert answer.status_code in {200, 404}, answer.text
        assert answer.json().get("account_id") in {"eve", None}
    for arguments in ({"account_id": "ann"}, {"within": "org"}, {"audit": True}):
        assert postgrest.post("/rpc/my_balance", json=arguments).status_code == 404


def test_over_postgrest_a_forged_token_is_worth_nothing(postgrest):
    head, body, signature = token("service_role").split(".")
    none = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0"  # {"alg":"none","typ":"JWT"}
    eves = token("authenticated", sub="eve").split(".")
    for forged in (
        f"{none}.{body}.",
        f"{none}.{body}.{signature}",
        f"{head}.{body}.{eves[2]}",
        f"{head}.{body}.",
    ):
        answer = postgrest.post(
            "/rpc/verify", json={}, headers={"Authorization": f"Bearer {forged}"}
        )
        assert answer.status_code == 401, answer.text


def test_over_postgrest_its_own_description_shows_her_what_she_may_call(postgrest):
    described = postgrest.get("/", headers={"Accept": "application/openapi+json"}).json()
    assert set(described["paths"]) <= {"/", "/rpc/my_balance", "/rpc/my_reservations"}
