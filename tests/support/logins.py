"""Logins of few rights: a member of one of the ledger's roles, or of none."""

import contextlib

import psycopg
from psycopg import sql

__all__ = ["SERVICE_LOGIN", "login"]

SERVICE_LOGIN = "preauth_service_login"


def login(database_url: str, name: str, role: str | None = None) -> str:
    """A URL of the same database as a login of that name, made if the cluster has none."""
    make = sql.SQL("create role {} login").format(sql.Identifier(name))
    if role is not None:
        make += sql.SQL(" in role {}").format(sql.Identifier(role))
    with psycopg.connect(database_url, autocommit=True) as connection:
        known = connection.execute("select from pg_roles where rolname = %s", [name]).fetchone()
        if known is None:
            # another worker of this run may make it at the same moment
            with contextlib.suppress(psycopg.errors.UniqueViolation):
                connection.execute(make)
    return database_url.replace("postgres@", f"{name}@")
