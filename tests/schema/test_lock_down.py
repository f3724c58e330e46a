"""Who owns what, and who may do what: asked of the catalog about every object there is."""

import psycopg
import pytest

from tests.support import databases

OUTSIDERS = ("public", "anon", "authenticated", "service_role", "preauth_service", "preauth_audit")
SERVICES = {"service_role", "preauth_service"}
AUTHENTICATED = {"my_balance", "my_reservations"}
READS = {
    "account",
    "balance",
    "plan",
    "price_table",
    "price_tables",
    "reservation",
    "revision",
    "verify",
}
AUDITORS = {"preauth_audit", *SERVICES}
VIEWS = {"decisions", "holds", "spend", "windows"}

OWNED = """
select 'schema ' || nspname, pg_get_userbyid(nspowner) from pg_namespace where nspname in ('preauth', 'preauth_api')
union all
select 'relation ' || c.oid::regclass, pg_get_userbyid(relowner) from pg_class c
  where relnamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)
union all
select 'function ' || p.oid::regprocedure, pg_get_userbyid(proowner) from pg_proc p
  where pronamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)
union all
select 'type ' || t.oid::regtype, pg_get_userbyid(typowner) from pg_type t
  where typnamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)
"""
EXECUTABLE = """
select p.pronamespace::regnamespace::text, p.proname from pg_proc p
 where pronamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)
   and has_function_privilege('{role}', p.oid, 'execute')
"""
READABLE = """
select c.oid::regclass::text from pg_class c
 where relnamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace) and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
   and case relkind when 'S' then has_sequence_privilege('{role}', c.oid, 'usage, select, update')
       else has_any_column_privilege('{role}', c.oid, 'select') end
"""
WRITABLE = """
select c.oid::regclass::text from pg_class c
 where relnamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace) and relkind in ('r', 'p', 'v')
   and (has_table_privilege('{role}', c.oid, 'insert, update, delete, truncate, references, trigger')
        or has_any_column_privilege('{role}', c.oid, 'insert, update, references'))
"""
TABLES = "select oid from pg_class where relnamespace = 'preauth'::regnamespace and relkind in ('r', 'p')"
POLICIES = """
select polrelid, polname, polpermissive, polcmd::text, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid) from pg_policy
"""
SCHEMAS = """
select nspname, has_schema_privilege('{role}', oid, 'usage'), has_schema_privilege('{role}', oid, 'create')
  from pg_namespace where nspname in ('preauth', 'preauth_api') order by 1
"""


@pytest.fixture(scope="module", params=["sql", "bundle", "upgraded"])
def ask(cluster, request):
    """Rows of a query, on the ledger made in each of three ways."""
    source = databases.template(cluster, request.param)
    with databases.temporary(cluster, source) as url, psycopg.connect(url) as connection:
        yield lambda query: connection.execute(query.encode()).fetchall()


def test_everything_belongs_to_the_owner(ask):
    assert [row for row in ask(OWNED) if row[1] != "preauth_owner"] == []


def test_the_owner_cannot_log_in_and_is_no_superuser(ask):
    assert ask(
        "select rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication"
        " from pg_roles where rolname = 'preauth_owner'"
    ) == [(False,) * 6]


def test_the_roles_that_are_granted_to_others_cannot_log_in_either(ask):
    assert (
        ask(
            "select rolname from pg_roles where rolname in ('preauth_service', 'preauth_audit')"
            " and (rolcanlogin or rolsuper or rolbypassrls)"
        )
        == []
    )


def test_nobody_of_them_is_a_member_of_the_owner(ask):
    for role in OUTSIDERS[1:]:
        assert ask(f"select pg_has_role('{role}', 'preauth_owner', 'member')") == [(False,)]


@pytest.mark.parametrize("role", OUTSIDERS)
def test_each_role_may_call_what_it_is_meant_to_and_nothing_else(ask, role):
    every = {
        row[0]
        for row in ask(
            "select proname from pg_proc where pronamespace = 'preauth_api'::regnamespace"
        )
    }
    wanted = {
        "public": set(),
        "anon": set(),
        "authenticated": AUTHENTICATED,
        "preauth_audit": READS | {name for name in every if name.startswith("audit_")},
    }.get(role, every - AUTHENTICATED)
    assert set(ask(EXECUTABLE.format(role=role))) == {("preauth_api", name) for name in wanted}


@pytest.mark.parametrize("role", OUTSIDERS)
def test_no_role_may_read_or_write_a_table_and_auditors_read_the_views(ask, role):
    assert ask(WRITABLE.format(role=role)) == []
    views = VIEWS if role in AUDITORS else set()
    assert {name for (name,) in ask(READABLE.format(role=role))} == {
        f"preauth_api.{v}" for v in views
    }


@pytest.mark.parametrize("role", OUTSIDERS)
def test_the_private_schema_is_closed_and_the_public_one_is_open_to_callers(ask, role):
    open_to = role not in {"public", "anon"}
    assert ask(SCHEMAS.format(role=role)) == [
        ("preauth", False, False),
        ("preauth_api", open_to, False),
    ]


def test_every_table_has_row_level_security_that_lets_nobody_through(ask):
    assert (
        ask(
            "select oid::regclass from pg_class where relnamespace = 'preauth'::regnamespace"
            " and relkind in ('r', 'p') and not relrowsecurity"
        )
        == []
    )
    assert {row[1:] for row in ask(POLICIES)} == {("nobody", False, "*", "false", None)}
    assert {row[0] for row in ask(POLICIES)} == {row[0] for row in ask(TABLES)}


def test_every_call_runs_as_the_owner_with_a_pinned_search_path(ask):
    assert (
        ask(
            "select proname from pg_proc where pronamespace = 'preauth_api'::regnamespace and not"
            " (prosecdef and coalesce('search_path=pg_catalog, pg_temp' = any (proconfig), false))"
        )
        == []
    )


def test_no_private_function_runs_as_the_owner_for_its_caller(ask):
    assert (
        ask(
            "select proname from pg_proc where pronamespace = 'preauth'::regnamespace and prosecdef"
        )
        == []
    )


def test_a_function_that_nobody_thought_of_is_for_services_alone(cluster):
    source = databases.template(cluster, "sql")
    with databases.temporary(cluster, source) as url, psycopg.connect(url) as connection:
        connection.execute(
            "create function preauth_api.new_call() returns text language sql as $$ select 'x' $$;"
            "create function preauth._new_helper() returns text language sql as $$ select 'x' $$;"
            "grant all on all functions in schema preauth_api, preauth to anon, authenticated;"
            "grant all on all tables in schema preauth to anon, authenticated, service_role;"
            "select preauth._lock_down()"
        )
        may = {
            role: {
                name
                for _, name in connection.execute(EXECUTABLE.format(role=role).encode())
                if "new" in name
            }
            for role in OUTSIDERS
        }
        writable = [
            row
            for role in OUTSIDERS
            for row in connection.execute(WRITABLE.format(role=role).encode())
        ]
    assert may == {role: {"new_call"} if role in SERVICES else set() for role in OUTSIDERS}
    assert writable == []
