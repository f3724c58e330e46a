"""Processes that serve on 127.0.0.1 and end with us."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from bench.harness.database import Database
from service.admin_key import create_key
from service.paths import SQL

__all__ = ["Server", "bare", "checked", "free_port", "preauth", "reference", "serving"]

ROOT = SQL.parent
START_SECONDS = 60.0
STOP_SECONDS = 15.0
TRIAL = {"request_id": "hello", "account_id": "hot", "amounts": {"usd_nano": 1}}


@dataclass(frozen=True)
class Server:
    """Something that answers POST /reserve."""

    port: int
    pid: int
    store: int
    """The pid of its database."""
    key: str = "none"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reserve(self) -> int:
        """The status of one reservation."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        connection.request("POST", "/reserve", json.dumps(TRIAL), headers)
        return connection.getresponse().status


@contextmanager
def serving(
    command: Sequence[str], port: int, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[int]:
    """Start a process and wait until it accepts connections; its pid."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**_inherited(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _await_port(process, port, log)
        yield process.pid
    finally:
        _end(process)


@contextmanager
def preauth(database: Database, directory: Path, **settings: str) -> Iterator[Server]:
    """The service itself, with a spend key, as in production."""
    port = free_port()
    with database.connect() as connection:
        key, _ = create_key(connection, name="bench", role="spend")
    environment = {
        "PREAUTH_DATABASE_URL": database.dsn,
        "PREAUTH_PORT": str(port),
        **{f"PREAUTH_{name}": value for name, value in settings.items()},
    }
    command = [sys.executable, "-m", "service.cli", "serve"]
    log = directory / f"preauth-{port}.log"
    with serving(command, port, log, environment) as pid:
        yield checked(Server(port, pid, database.pid, key), log)


@contextmanager
def reference(
    module: str,
    database: Database,
    directory: Path,
    environment: Mapping[str, str] | None = None,
    protocol: str = "auto",
) -> Iterator[Server]:
    """An application of ours to compare with, run by uvicorn as the service is."""
    port = free_port()
    command = [
        sys.executable, "-m", "uvicorn", "--factory", f"{module}:create_app", "--port", str(port),
        "--no-access-log", "--no-server-header", "--no-proxy-headers", "--ws", "none",
        "--log-level", "warning", "--http", protocol,
    ]  # fmt: skip
    log = directory / f"{module}-{port}.log"
    dsn = {"BENCH_DATABASE_URL": database.dsn}
    with serving(command, port, log, {**dsn, **(environment or {})}) as pid:
        yield checked(Server(port, pid, database.pid), log)


@contextmanager
def bare(database: Database, directory: Path) -> Iterator[Server]:
    """An application that does nothing, behind the service's own server."""
    protocol = "service.corked:CorkedProtocol"
    with reference("bench.reference.bare", database, directory, protocol=protocol) as server:
        yield server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def checked(server: Server, log: Path) -> Server:
    status = server.reserve()
    if status != 200:
        raise RuntimeError(f"it answers {status}: {log.read_text()[-2000:]}")
    return server


def _inherited() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREAUTH_", "BENCH_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def _await_port(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"{log.name}: it does not listen: {log.read_text()[-2000:]}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
