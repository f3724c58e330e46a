"""Databases: templates built once per run, and a clone of one for each test."""

import atexit
import functools
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from tests.support import schemas
from tests.support.cluster import Cluster

__all__ = ["DEFAULT_SCHEMA", "mismatches", "template", "temporary"]

DEFAULT_SCHEMA = os.environ.get("PREAUTH_TEST_SCHEMA", "sql")
BUILDERS = {
    "sql": schemas.from_sql,
    "head": schemas.from_migrations,
    "bundle": schemas.from_bundle,
    "upgraded": schemas.upgraded,
}
BUILD_LOCK = 5_040_001
FIND = "select 1 from pg_database where datname = %s"


def template(cluster: Cluster, schema: str) -> str:
    """The name of the template with that schema, built by whichever worker needs it first."""
    return _template(cluster.pattern, schema)


@functools.cache
def _template(pattern: str, schema: str) -> str:
    cluster = Cluster(pattern)
    name = f"template_{schema}"
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as admin:
        admin.execute("select pg_advisory_lock(%s)", [BUILD_LOCK])
        if admin.execute(FIND, [name]).fetchone() is None:
            _build(cluster, admin, name, schema)
    return name


@functools.cache
def _admin(url: str) -> psycopg.Connection:
    """One connection of this process that makes and drops its databases."""
    connection = psycopg.connect(url, autocommit=True)
    atexit.register(connection.close)
    return connection


def _build(cluster: Cluster, admin: psycopg.Connection, name: str, schema: str) -> None:
    draft = f"draft_{schema}"
    _run(admin, "drop database if exists {}", draft)
    _run(admin, "create database {} template template0 encoding 'UTF8'", draft)
    BUILDERS[schema](cluster.url(draft))
    _run(admin, "alter database {} rename to {}", draft, name)


@contextmanager
def temporary(cluster: Cluster, source: str = "template0") -> Iterator[str]:
    """A database cloned from ``source`` and dropped at the end, whoever is still connected."""
    name = f"t_{uuid.uuid4().hex}"
    admin = _admin(cluster.url("postgres"))
    _run(admin, f"create database {{}} template {{}} strategy {cluster.cloning}", name, source)
    try:
        yield cluster.url(name)
    finally:
        _run(admin, "drop database {} with (force)", name)


def mismatches(url: str) -> list[tuple[object, ...]]:
    """What ``verify()`` finds wrong in a database."""
    with psycopg.connect(url) as connection:
        return connection.execute("select * from preauth_api.verify()").fetchall()


def _run(admin: psycopg.Connection, command: str, *names: str) -> None:
    admin.execute(sql.SQL(command).format(*map(sql.Identifier, names)))  # type: ignore[arg-type]
