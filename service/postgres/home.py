"""The directory a PostgreSQL lives in: who may use it, and what is remembered between starts."""

import fcntl
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from service.postgres.errors import AlreadyRunningError, PostgresError
from service.postgres.identity import Identity

__all__ = ["Home", "State", "free_port"]

SOCKET_PATH_LIMIT = 107
LOG_LIMIT_BYTES = 10_000_000


@dataclass
class State:
    """What ``postgres.json`` remembers. It is readable by the owner only."""

    port: int = 0
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)


class Home:
    """``data_dir``: lock, log and state are the caller's, ``postgres/`` is PostgreSQL's."""

    def __init__(self, data_dir: Path) -> None:
        self.root = data_dir.expanduser().absolute()
        self.postgres = self.root / "postgres"
        self.data = self.postgres / "data"
        self.unfinished = self.postgres / "data.new"
        self.sockets = self.postgres / "socket"
        self.log = self.root / "postgres.log"
        self._state = self.root / "postgres.json"
        self._lock: int | None = None

    def lock(self) -> None:
        """Keep every other process from starting a PostgreSQL here; freed when this one ends.

        Raises:
            AlreadyRunningError: another process has the lock.
        """
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except PermissionError as error:
            raise PostgresError(f"{self.root} is not yours to use: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 32).decode().strip() or "unknown"
            os.close(handle)
            raise AlreadyRunningError(f"{self.root} is in use by process {holder}") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._lock = handle

    def unlock(self) -> None:
        """Let others have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def prepare(self, identity: Identity) -> None:
        """Make ``postgres/`` and its socket directory, mode 0700, owned by the user who runs it."""
        for path in (self.postgres, self.sockets):
            path.mkdir(mode=0o700, exist_ok=True)
            _own(path, identity)
        if self.unfinished.exists():  # a first start that did not finish: nothing was acknowledged
            shutil.rmtree(self.unfinished)

    @contextmanager
    def password_file(self, password: str, identity: Identity) -> Iterator[None]:
        """``postgres/password``, for as long as initdb needs to read it."""
        path = self.postgres / "password"
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, password.encode() + b"\n")
            if identity.switched:
                os.fchown(handle, identity.uid, identity.gid)
            yield
        finally:
            os.close(handle)
            path.unlink()

    def initialised(self) -> bool:
        """Whether a cluster is there. It is put in place whole, so its presence is enough."""
        return (self.data / "PG_VERSION").exists()

    def read_state(self) -> State:
        """What is remembered, or a fresh state with a new password."""
        try:
            kept = json.loads(self._state.read_text())
            return State(port=kept["port"], password=kept["password"])
        except FileNotFoundError:
            return State()
        except (ValueError, TypeError, KeyError, PermissionError) as error:
            raise PostgresError(f"cannot read {self._state}: {error}") from error

    def write_state(self, state: State) -> None:
        """Remember ``state``, whole or not at all."""
        new = self._state.with_suffix(".new")
        new.unlink(missing_ok=True)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            json.dump(asdict(state), file)
            file.flush()
            os.fsync(handle)
        new.replace(self._state)

    def open_log(self) -> int:
        """A descriptor to append PostgreSQL's log to; a long log is set aside first."""
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        return os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def log_tail(self, lines: int = 12) -> str:
        """The end of the log, for an error message."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""

    def socket_fits(self, port: int) -> bool:
        """Whether a client can name the socket: a path of at most 107 bytes."""
        return len(os.fsencode(self.sockets / f".s.PGSQL.{port}")) <= SOCKET_PATH_LIMIT


def _own(path: Path, identity: Identity) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(handle, 0o700)
        if identity.switched:
            os.fchown(handle, identity.uid, identity.gid)
    finally:
        os.close(handle)


def free_port(preferred: int = 0) -> int:
    """A loopback TCP port nobody listens on: the preferred one if it is free."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise PostgresError("no free TCP port on 127.0.0.1")
