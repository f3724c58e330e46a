"""``preauth dev``: everything on one machine with one command, and nothing lost when it stops."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from types import FrameType
from typing import NoReturn

import click
import psycopg

from service import migrate
from service.admin_key import local_admin_key
from service.app import create_app
from service.examples import load_examples
from service.ledger import Ledger
from service.postgres import PostgresServer
from service.serving import run_here
from service.settings import Settings

__all__ = ["run"]

LOOK_SECONDS = 0.5
EXAMPLE = (
    """'{"request_id":"hello-'$(date +%s)'","account_id":"demo","""
    """"amounts":{"usd_nano":1000000}}'"""
)
"""The body of a reservation, as a shell reads it: another request at every second."""


def run(settings: Settings) -> None:
    """Start PostgreSQL and the service; return when both have stopped."""
    try:
        with _interruptible(), _postgres(settings) as dsn:
            _serve(settings, dsn)
    except KeyboardInterrupt:
        pass
    say("stopped")


def say(what: str) -> None:
    """One line for the person at the terminal."""
    click.echo(f"preauth: {what}")


def _serve(settings: Settings, dsn: str) -> None:
    migrate.upgrade(dsn)
    say(f"the database is at revision {migrate.head()}")
    with psycopg.connect(dsn, autocommit=True) as connection:
        if loaded := load_examples(connection):
            say(f"loaded the examples: {', '.join(loaded)}")
        key = _admin_key(settings, connection)
    app = create_app(settings.model_copy(update={"database_url": dsn}))
    run_here(app, settings, lambda: _announce(settings.base_url, key))


def _admin_key(settings: Settings, connection: psycopg.Connection[tuple[object, ...]]) -> str:
    if settings.admin_key is not None:
        say("the admin key is the one in PREAUTH_ADMIN_KEY")
        return settings.admin_key
    key, path = local_admin_key(connection, settings.data_dir)
    say(f"the admin key is {key} (kept in {path}; another: preauth keys create)")
    return key


def _announce(url: str, key: str) -> None:
    say(f"listening on {url} (documentation: {url}/docs). Ctrl-C stops it. Try:\n")
    click.echo(
        f"curl -sS {url}/reserve -H {quote(f'Authorization: Bearer {key}')} "
        f"-H 'Content-Type: application/json' -d {EXAMPLE}\n"
    )


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends it the way Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {n: signal.signal(n, interrupt) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _postgres(settings: Settings) -> Iterator[str]:
    if settings.database_url is not None:
        Ledger.of(settings)  # before anything is written, refuses what it cannot connect to
        say("using the database in PREAUTH_DATABASE_URL")
        yield settings.database_url
        return
    server = PostgresServer(settings.data_dir)
    if not server.home.initialised():
        say(f"first start: making a PostgreSQL in {settings.data_dir}")
    with server, _kept_alive(server):
        say(f"PostgreSQL runs in {settings.data_dir} (log: {server.home.log.name})")
        yield server.dsn


def _started_again(server: PostgresServer) -> bool:
    say("PostgreSQL ended unexpectedly: starting it again")
    try:
        server.start(end_with_thread=True)
    except Exception as error:  # noqa: BLE001  # the watch goes on: nobody else would start it
        say(f"it did not start: {error}")
        return False
    return True


@contextmanager
def _kept_alive(server: PostgresServer) -> Iterator[None]:
    """Start PostgreSQL again when somebody kills it."""
    stopping = threading.Event()

    def watch() -> None:
        pause = LOOK_SECONDS
        while not stopping.wait(pause):
            pause = LOOK_SECONDS if server.running or _started_again(server) else min(pause * 2, 60)

    watcher = threading.Thread(target=watch, name="postgres-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stopping.set()
        watcher.join()
