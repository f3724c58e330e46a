"""Running the application under uvicorn: in this process for dev, in several for production."""

import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import psycopg
import uvicorn
from litestar import Litestar

from service import migrate
from service.direct import DirectProtocol
from service.metrics_directory import VARIABLE
from service.settings import Settings

__all__ = ["run_here", "run_workers", "wait_for_head"]

WAIT_SECONDS = 1.0
SAY_EVERY = 10
APPLICATION = "service.worker:create_worker_app"
STARTUP_FAILURE = 3
"""The exit status with which uvicorn says that it did not start."""


class _Announcing(uvicorn.Server):
    """Says that it listens once it does."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()


def run_here(app: Litestar, settings: Settings, announce: Callable[[], None]) -> None:
    """Serve in this process until SIGINT or SIGTERM."""
    config = uvicorn.Config(app, **_options(settings))
    _Announcing(config, announce).run(_sockets(config))


def run_workers(settings: Settings, workers: int) -> None:
    """Serve in so many processes, each with an application of its own."""
    with _shared_metrics(workers):
        if workers > 1:
            uvicorn.run(APPLICATION, factory=True, workers=workers, **_options(settings))
        else:
            _run_one(uvicorn.Config(APPLICATION, factory=True, workers=1, **_options(settings)))


def _run_one(config: uvicorn.Config) -> None:
    server = uvicorn.Server(config)
    server.run(_sockets(config))
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def _sockets(config: uvicorn.Config) -> list[socket.socket] | None:
    """Let ``::`` take IPv4 too in one process: uvicorn does so for several only."""
    return [config.bind_socket()] if ":" in config.host else None


@contextmanager
def _shared_metrics(workers: int) -> Iterator[None]:
    """Let whichever process answers ``GET /metrics`` count for all of them."""
    if workers == 1 or os.environ.get(VARIABLE):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="preauth-metrics-") as directory:
        os.environ[VARIABLE] = directory
        yield


def wait_for_head(dsn: str) -> None:
    """Return when the database answers and is at this release's newest revision."""
    waited = 0
    while (reason := _not_ready(dsn)) is not None:
        if waited % SAY_EVERY == 0:
            click.echo(f"waiting: {reason}", err=True)
        waited += 1
        time.sleep(WAIT_SECONDS)


def _not_ready(dsn: str) -> str | None:
    try:
        at = migrate.revision(dsn)
    except psycopg.OperationalError as error:
        return f"the database does not answer ({type(error).__name__})"
    except psycopg.errors.InsufficientPrivilege:
        return "the database's user is not a member of preauth_service"
    if at == migrate.head():
        return None
    told = f"the database is at revision {at}, this release needs {migrate.head()}"
    return f"{told}: {migrate.remedy(at)}"


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "timeout_graceful_shutdown": settings.shutdown_seconds,
        "log_config": None,  # the application's own
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "http": DirectProtocol,
        "ws": "none",
    }
