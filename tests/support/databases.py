"""Databases: templates built once per run, and a clone of one for each test."""

import atexit
import functools
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from service.paths import SQL
from tests.support import profile, schemas
from tests.support.cluster import Cluster

__all__ = [
    "DEFAULT_SCHEMA",
    "build",
    "drop",
    "mismatches",
    "template",
    "template_name",
    "temporary",
]

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
    name = template_name(schema, schemas.SOURCES)
    _built(cluster.pattern, name, schema)
    return name


def template_name(schema: str, sources: Path) -> str:
    """Another folder of sources is another template: tests/mutants shares one cluster."""
    return f"template_{schema}" if sources == SQL else f"template_{schema}_{sources.parent.name}"


@functools.cache
def _built(pattern: str, name: str, schema: str) -> None:
    build(Cluster(pattern), name, BUILDERS[schema])


@functools.cache
def _admin(url: str) -> psycopg.Connection:
    """One connection of this process that makes and drops its databases."""
    connection = psycopg.connect(url, autocommit=True)
    atexit.register(connection.close)
    return connection


def build(
    cluster: Cluster, name: str, builder: Callable[[str], None], source: str = "template0"
) -> None:
    """Make a database of that name from ``source``, whole or not at all, if there is none."""
    draft = f"draft_{name}"
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as admin:
        admin.execute("select pg_advisory_lock(%s)", [BUILD_LOCK])
        if admin.execute(FIND, [name]).fetchone() is None:
            _run(admin, "drop database if exists {}", draft)
            making = (
                f"create database {{}} template {{}} encoding 'UTF8' strategy {cluster.cloning}"
            )
            _run(admin, making, draft, source)
            builder(cluster.url(draft))
            if profile.is_on():
                profile.collect(cluster.url(draft))
            _run(admin, "alter database {} rename to {}", draft, name)


def drop(cluster: Cluster, name: str) -> None:
    """Drop it, whoever is connected."""
    _run(_admin(cluster.url("postgres")), "drop database if exists {} with (force)", name)


@contextmanager
def temporary(cluster: Cluster, source: str = "template0") -> Iterator[str]:
    """A database cloned from ``source`` and dropped at the end, whoever is still connected."""
    name = f"t_{uuid.uuid4().hex}"
    admin = _admin(cluster.url("postgres"))
    _run(admin, f"create database {{}} template {{}} strategy {cluster.cloning}", name, source)
    try:
        yield cluster.url(name)
        if profile.is_on():
            profile.collect(cluster.url(name))
    finally:
        _run(admin, "drop database {} with (force)", name)


def mismatches(url: str) -> list[tuple[object, ...]]:
    """What ``verify()`` finds wrong in a database."""
    with psycopg.connect(url) as connection:
        return connection.execute("select * from preauth_api.verify()").fetchall()


def _run(admin: psycopg.Connection, command: str, *names: str) -> None:
    admin.execute(sql.SQL(command).format(*map(sql.Identifier, names)))  # type: ignore[arg-type]
