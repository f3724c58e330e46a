"""The roles that Supabase and PostgREST expect, as Supabase makes them."""

import psycopg

__all__ = ["ROLES", "make_roles"]

ROLES = ("anon", "authenticated", "service_role", "authenticator")

_MAKE = """
create role anon nologin noinherit;
create role authenticated nologin noinherit;
create role service_role nologin noinherit bypassrls;
create role authenticator login noinherit;
grant anon, authenticated, service_role to authenticator;
"""


def make_roles(url: str) -> None:
    """Make them in a cluster that has none of them."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_MAKE)
