"""Start, stop and recover one PostgreSQL in one directory."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote

import psycopg
from psycopg import sql

from service.postgres.binaries import Binaries, embedded_bin_dir
from service.postgres.copies import Copy, make_copy, sweep
from service.postgres.errors import AlreadyRunningError, PostgresError
from service.postgres.home import Home, State, free_port
from service.postgres.identity import Identity, choose_identity
from service.postgres.processes import clear_leftovers, end_with_parent, postmaster_status

__all__ = ["PostgresServer", "StopMode", "open_server"]

StopMode = Literal["smart", "fast", "immediate"]

SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
START_SECONDS = 300.0  # replaying the log after a crash can take a while
STOP_SECONDS = 60.0
JOIN_SECONDS = 30.0
PORT_TRIES = 3
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
USER = "postgres"


class PostgresServer:
    """One PostgreSQL. ``with PostgresServer(path) as server: connect(server.dsn)``.

    Args:
        data_dir: what it keeps, made when missing. A later start finds it again.
        bin_dir: PostgreSQL's programs; the embedded PostgreSQL 18 when left out.
        database: the database that ``dsn`` names, made at the first start.
        port: the loopback TCP port; a free one, kept over restarts, when left out.
        options: further server settings, such as ``{"max_connections": "300"}``.
    """

    def __init__(
        self,
        data_dir: str | Path,
        bin_dir: str | Path | None = None,
        *,
        database: str = "preauth",
        port: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.home = Home(Path(data_dir))
        self.database = database
        self._given = Binaries(Path(bin_dir) if bin_dir else embedded_bin_dir())
        self._copy: Copy | None = None
        self._port = port
        self._options = dict(options or {})
        self._state = State()
        self._has_served = self._end_with_thread = False
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, end_with_thread: bool | None = None) -> Self:
        """Start it, or start it again, and wait until it answers. Idempotent.

        Args:
            end_with_thread: whether the kernel stops it when the calling thread ends, however
                that ends (Linux); by default when that is the main thread.

        Raises:
            AlreadyRunningError: another process runs one on this directory.
            PostgresError: it cannot be started; the message has the end of its log.
        """
        if self.running:
            return self
        if end_with_thread is None:
            end_with_thread = threading.current_thread() is threading.main_thread()
        self._end_with_thread = end_with_thread
        if self._process is None:
            self.home.lock()
        try:
            self._start_locked()
        except BaseException:
            self._end("immediate")
            raise
        return self

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop it and wait. ``fast`` ends sessions and loses nothing. Idempotent."""
        self._end(mode)
        self._has_served = False

    def _end(self, mode: StopMode) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(SIGNALS[mode])
            self._await_end(process)
        self._process = None
        if self._copy is not None:
            self._copy.remove()
            self._copy = None
        self.home.unlock()

    def kill(self) -> None:
        """Kill the postmaster with SIGKILL, as a crash would. ``start()`` recovers."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def running(self) -> bool:
        """Whether the postmaster that this object started is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The postmaster's process id while it runs."""
        return self._process.pid if self._process is not None and self.running else None

    @property
    def port(self) -> int:
        """The loopback TCP port, and the number in the socket's name."""
        return self._state.port

    @property
    def dsn(self) -> str:
        """A URL for ``database``: by the socket when its path is short enough, else by TCP."""
        return self.dsn_for(self.database)

    @property
    def tcp_dsn(self) -> str:
        """A URL for ``database`` by loopback TCP; it contains the password."""
        return _tcp_dsn(self._state, self.database)

    def dsn_for(self, database: str) -> str:
        """As ``dsn``, for another database of this server."""
        return _dsn(self.home, self._state, database)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _start_locked(self) -> None:
        home = self.home
        identity = choose_identity(home.postgres)
        self._state = home.read_state()
        home.prepare(identity)
        clear_leftovers(home.data)
        self._make_reachable(identity)
        with self._place(identity) as (place, arguments):
            if not home.initialised():
                self._initialise(place, arguments, identity)
            self._check_version()
            self._launch(place, arguments)
        self._make_database()

    def _make_reachable(self, identity: Identity) -> None:
        """Copy the programs when the user who shall run them cannot reach them."""
        sweep()
        if self._copy is None and not self._given.reachable_by(identity):
            self._copy = make_copy(self._given.bin_dir)

    @property
    def _binaries(self) -> Binaries:
        return Binaries(self._copy.bin_dir) if self._copy is not None else self._given

    @contextmanager
    def _place(self, identity: Identity) -> Iterator[tuple[str, dict[str, Any]]]:
        """The name of ``postgres/`` for a child process, and how to start that child.

        The user whom root hands PostgreSQL to may be unable to walk to the directory (a home
        directory is mode 0700). So root opens it, and the child goes through the descriptor.
        """
        arguments = {"env": ENVIRONMENT, "umask": 0o077, "cwd": "/", **identity.arguments()}
        if not identity.switched:
            yield str(self.home.postgres), arguments
            return
        if not Path("/proc/self/fd").is_dir():
            raise PostgresError("start it as an ordinary user: root needs /proc for that")
        handle = os.open(self.home.postgres, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            yield f"/proc/self/fd/{handle}", {**arguments, "pass_fds": (handle,)}
        finally:
            os.close(handle)

    def _initialise(self, place: str, arguments: dict[str, Any], identity: Identity) -> None:
        """Make the cluster aside, then move it into place: a crash leaves all of it or none."""
        command = [
            self._binaries.path("initdb"),
            f"--pgdata={place}/data.new",
            f"--username={USER}",
            "--encoding=UTF8",
            "--locale=C",
            "--auth-local=trust",  # the socket directory is mode 0700
            "--auth-host=scram-sha-256",
            f"--pwfile={place}/password",
            "--no-instructions",
        ]
        with self.home.password_file(self._state.password, identity):
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                **arguments,
            )
        if done.returncode != 0:
            raise PostgresError(f"initdb failed:\n{done.stdout.decode(errors='replace')}")
        self.home.unfinished.rename(self.home.data)
        _sync(self.home.postgres)

    def _check_version(self) -> None:
        found = int((self.home.data / "PG_VERSION").read_text())
        wanted = self._binaries.major()
        if found != wanted:
            raise PostgresError(
                f"{self.home.data} was made by PostgreSQL {found}, these programs are {wanted}: "
                "use the old ones, or dump and load"
            )

    def _launch(self, place: str, arguments: dict[str, Any]) -> None:
        for attempt in range(PORT_TRIES):
            if not self._has_served:  # else others have its URL until it is stopped
                self._state.port = self._port or free_port(self._state.port if attempt == 0 else 0)
            self.home.write_state(self._state)
            self._spawn(place, arguments)
            if self._answers():
                self._has_served = True
                return
        raise PostgresError(f"PostgreSQL did not start:\n{self.home.log_tail()}")

    def _spawn(self, place: str, arguments: dict[str, Any]) -> None:
        sockets = f"{place}/socket" if self.home.socket_fits(self._state.port) else ""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self._state.port),
            "unix_socket_directories": sockets,
            "unix_socket_permissions": "0700",
            "log_timezone": "UTC",
            "timezone": "UTC",
            **self._options,
        }
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = self.home.open_log()
        try:
            self._process = subprocess.Popen(
                [self._binaries.path("postgres"), "-D", f"{place}/data", *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us; we then stop it in order
                preexec_fn=end_with_parent() if self._end_with_thread else None,  # noqa: PLW1509 one prctl
                **arguments,
            )
        finally:
            os.close(log)

    def _answers(self) -> bool:
        """Wait until it is ready. False when it ended instead, as when the port is taken."""
        deadline = time.monotonic() + START_SECONDS
        process = self._process
        while process is not None and process.poll() is None:
            if postmaster_status(self.home.data) == (process.pid, "ready"):
                return True
            if time.monotonic() > deadline:
                raise PostgresError(f"PostgreSQL is not ready:\n{self.home.log_tail()}")
            time.sleep(0.02)
        return False

    def _await_end(self, process: subprocess.Popen[bytes]) -> None:
        for number in (signal.SIGQUIT, signal.SIGKILL, None):
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                if number is not None:
                    process.send_signal(number)
            else:
                return

    def _make_database(self) -> None:
        with psycopg.connect(self.dsn_for("postgres"), autocommit=True) as connection:
            known = connection.execute(
                "select from pg_catalog.pg_database where datname = %s", [self.database]
            ).fetchone()
            if known is None:
                name = sql.Identifier(self.database)
                connection.execute(sql.SQL("create database {}").format(name))


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _tcp_dsn(state: State, database: str) -> str:
    password = quote(state.password, safe="")
    return f"postgresql://{USER}:{password}@127.0.0.1:{state.port}/{quote(database, safe='')}"


def _dsn(home: Home, state: State, database: str) -> str:
    if not home.socket_fits(state.port):
        return _tcp_dsn(state, database)
    host = quote(str(home.sockets), safe="")
    return f"postgresql://{USER}@/{quote(database, safe='')}?host={host}&port={state.port}"


def _running_dsn(home: Home, database: str) -> str:
    """The URL of a server that another process runs, or is just about to."""
    deadline = time.monotonic() + JOIN_SECONDS
    while True:
        try:
            dsn = _dsn(home, home.read_state(), database)
            psycopg.connect(dsn).close()
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                raise PostgresError(f"the server in {home.root} does not answer: {error}") from None
            time.sleep(0.2)
        else:
            return dsn


@contextmanager
def open_server(data_dir: Path, database: str = "preauth") -> Iterator[str]:
    """A URL of the embedded PostgreSQL in ``data_dir``: the running one, or one started for now."""
    server = PostgresServer(data_dir, database=database)
    try:
        server.start()
    except AlreadyRunningError:
        yield _running_dsn(server.home, database)
        return
    try:
        yield server.dsn
    finally:
        server.stop()
