"""What every object of the ledger must be, asked of the catalog."""

import os

import psycopg
import pytest

PINNED = "search_path=pg_catalog, pg_temp"


@pytest.fixture
def ask(database_url):
    """Rows of a query, as tuples."""
    with psycopg.connect(database_url) as connection:
        yield lambda query: connection.execute(query.encode()).fetchall()


def functions(where="true"):
    return f"""
        select p.oid::regprocedure::text from pg_proc p
          join pg_namespace n on n.oid = p.pronamespace
         where n.nspname in ('preauth', 'preauth_api') and {where} order by 1"""


def test_every_call_of_the_contract_is_there(ask):
    names = {
        row[0]
        for row in ask(
            "select proname from pg_proc where pronamespace = 'preauth_api'::regnamespace"
        )
    }
    calls = ["reserve", "settle", "release", "extend", "cancel", "charge", "resolve"]
    reads = [
        "balance",
        "reservation",
        "verify",
        "expire_due",
        "plan",
        "account",
        "keys",
        "key_by_hash",
    ]
    admin = ["put_plan", "put_account", "put_budget", "delete_budget", "create_key", "revoke_key"]
    assert {*calls, *(f"{c}_many" for c in calls), *reads, *admin} <= names


def test_no_call_is_overloaded(ask):
    assert (
        ask(
            "select proname from pg_proc where pronamespace = 'preauth_api'::regnamespace group by 1 having count(*) > 1"
        )
        == []
    )


def test_every_call_runs_as_the_owner(ask):
    assert ask(functions("n.nspname = 'preauth_api' and not p.prosecdef")) == []


def test_every_function_pins_its_search_path(ask):
    pinned = f"coalesce('{PINNED}' = any(p.proconfig), false)"
    assert ask(functions(f"not {pinned}")) == []


def test_no_call_compiles_its_plans(ask):
    """What helpers return is overestimated, and compiling would take longer than the call."""
    assert ask(functions("n.nspname = 'preauth_api' and not 'jit=off' = any(p.proconfig)")) == []


def test_nobody_else_may_execute_anything(ask):
    public = "has_function_privilege('public', p.oid, 'execute')"
    assert ask(functions(public)) == []


def test_nobody_else_may_use_the_schemas_or_the_tables(ask):
    assert (
        ask(
            "select nspname from pg_namespace where nspname like 'preauth%'"
            " and has_schema_privilege('public', oid, 'usage, create')"
        )
        == []
    )
    assert (
        ask(
            "select relname from pg_class where relnamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)"
            " and relkind in ('r', 'v', 'p') and has_table_privilege('public', oid, 'select, insert, update, delete')"
        )
        == []
    )


def test_row_level_security_is_on_for_every_table(ask):
    assert (
        ask(
            "select relname from pg_class where relnamespace = 'preauth'::regnamespace"
            " and relkind in ('r', 'p') and not relrowsecurity"
        )
        == []
    )


def test_every_table_view_and_column_is_described(ask):
    assert (
        ask(
            """
        select c.relname, a.attname from pg_class c
          left join pg_attribute a on a.attrelid = c.oid and a.attnum >= 0 and not a.attisdropped
         where c.relnamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)
           and c.relkind in ('r', 'p', 'v')
           and (obj_description(c.oid, 'pg_class') is null
                or (c.relkind <> 'v' and col_description(c.oid, a.attnum) is null))"""
        )
        == []
    )


def test_every_function_is_described(ask):
    assert ask(functions("obj_description(p.oid, 'pg_proc') is null")) == []


def test_arguments_have_the_contracts_names(ask):
    assert (
        ask(
            functions(
                "array_to_string(p.proargnames, ' ') ~ '(^| )p_' and n.nspname = 'preauth_api'"
            )
        )
        == []
    )


def test_no_trigger_is_on_the_way_of_a_write(ask):
    assert (
        ask(
            "select tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid"
            " where c.relnamespace = 'preauth'::regnamespace and not t.tgisinternal"
            " and t.tgname not in ('account_changed', 'budget_changed')"  # what administrators change
        )
        == []
    )


def test_no_call_that_makes_an_account_fires_a_trigger(ask):
    # tgtype: 4 is insert, 8 delete, 16 update
    assert ask(
        "select tgname::text, tgtype & 28 from pg_trigger where not tgisinternal and tgname = 'account_changed'"
    ) == [("account_changed", 16)]


def test_no_amount_is_a_float(ask):
    assert (
        ask(
            "select attrelid::regclass, attname from pg_attribute a join pg_class c on c.oid = a.attrelid"
            " where c.relnamespace = 'preauth'::regnamespace and a.atttypid in ('float4'::regtype, 'float8'::regtype, 'money'::regtype)"
        )
        == []
    )


ACCOUNTLESS = {
    "plan",
    "budget",
    "change_log",
    "api_key",
    "alembic_version",
    "account",
    "price_table",
    "configuration",
}


def test_every_key_of_an_accounts_rows_contains_the_account(ask):
    keys = ask(
        """
        select c.relname, array_agg(a.attname::text) from pg_index i
          join pg_class c on c.oid = i.indrelid
          join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
         where c.relnamespace = 'preauth'::regnamespace and i.indisunique
         group by c.relname, i.indexrelid"""
    )
    assert [k for k in keys if k[0] not in ACCOUNTLESS and "account_id" not in k[1]] == []


def test_no_extension_is_needed(ask):
    assert ask("select extname from pg_extension where extname <> 'plpgsql'") == []


def test_plpgsql_check_finds_no_fault_in_any_function(database_url):
    """Where the extension is installed (Debian's packages have it; the embedded server cannot).

    PREAUTH_TEST_PLPGSQL_CHECK=1 says that it must be.
    """
    with psycopg.connect(database_url, autocommit=True) as connection:
        available = connection.execute(
            "select 1 from pg_available_extensions where name = 'plpgsql_check'"
        ).fetchone()
        if available is None:
            assert os.environ.get("PREAUTH_TEST_PLPGSQL_CHECK") != "1", "plpgsql_check is missing"
            return
        connection.execute("create extension plpgsql_check")
        assert (
            connection.execute(
                """
            select p.oid::regprocedure::text, c.level, c.message, c.statement
              from pg_proc p join pg_language l on l.oid = p.prolang,
                   plpgsql_check_function_tb(p.oid, fatal_errors => false) c
             where l.lanname = 'plpgsql' and p.prorettype <> 'trigger'::regtype
               and p.pronamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)
               and c.level in ('error', 'warning')"""
            ).fetchall()
            == []
        )


def test_no_column_hides_a_parameter(database_url):
    """An sql function reads an unqualified name as a column first: without the parameter it would still be made."""
    hidden = []
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("create schema shadow")
        rows = connection.execute(
            """
            select p.proname, p.prosrc, p.proargnames[:p.pronargs], p.proargtypes::regtype[]::text[], pg_get_function_result(p.oid)
              from pg_proc p join pg_language l on l.oid = p.prolang
             where p.pronamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace) and l.lanname = 'sql'
               and p.pronargs > 0 and p.proargmodes is null order by 1"""
        ).fetchall()
        for name, source, parameters, types, result in rows:
            for gone in parameters:
                listed = ", ".join(
                    f'"{"gone" if p == gone else p}" {t}'
                    for p, t in zip(parameters, types, strict=True)
                )
                made = f"create or replace function shadow.{name}({listed}) returns {result} language sql as $shadow${source}$shadow$"
                try:
                    connection.execute(made.encode())
                except psycopg.errors.Error:
                    continue
                connection.execute(f"drop function shadow.{name}".encode())
                hidden.append((name, gone))
        connection.execute("drop schema shadow")
    assert rows
    assert hidden == []
