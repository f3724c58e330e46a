"""Connections to PostgreSQL: opened lazily, bounded in number and in time."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import asyncpg

from service.ledger.complaints import Complaints
from service.ledger.errors import StoreUnavailable
from service.ledger.seat import Seat
from service.ledger.target import Target
from service.settings import Settings

__all__ = ["Connections", "session_settings"]

_SERVER_SHARE = 0.9
"""The server gives up first, so that its clean error beats our cutting the connection."""

_CLOSE_SECONDS = 2.0


class _Connection(asyncpg.Connection):  # type: ignore[misc, unused-ignore]
    """A connection that is not reset between calls: nothing here changes a session's state."""

    __slots__ = ()

    def get_reset_query(self) -> str:
        return ""


class Connections:
    """A pool that never makes a caller wait longer than ``timeout`` seconds in all.

    It connects at first use, so that the service starts without its database, and again
    whenever a connection was lost, so that the service outlives a restart of it.

    Raises:
        DatabaseUrlError: the URL asks for what cannot be kept.
    """

    def __init__(
        self, url: str, *, size: int, timeout: float, session: dict[str, str] | None = None
    ) -> None:
        self._target = Target.of(url)
        self._size = size
        self._timeout = timeout
        self._session = session or {}
        self._complaints = Complaints()
        self._pool: Any = None
        self._waiting = 0
        self._clock: Callable[[], float]

    async def open(self) -> None:
        """Make the pool, without connecting."""
        self._clock = asyncio.get_running_loop().time
        self._pool = await asyncpg.create_pool(
            **self._target.arguments,
            min_size=0,
            max_size=self._size,
            max_inactive_connection_lifetime=0,
            timeout=min(self._timeout, self._target.connect_seconds or self._timeout),
            connection_class=_Connection,
            server_settings=self._server_settings(),
        )

    async def close(self) -> None:
        """Close every connection, by force those that don't close in time."""
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._pool.close(), _CLOSE_SECONDS)
        self._pool.terminate()

    async def fetch(self, sql: str, *args: object, resend: bool) -> Sequence[Any]:
        """Run one statement in its own transaction.

        ``resend``: the statement is idempotent, so it is sent again when the connection
        was lost before the answer came.

        Raises:
            LedgerError: never anything of asyncpg.
        """
        seat = self.seat()
        try:
            return await seat.fetch(sql, args, resend=resend, deadline=self.deadline())
        finally:
            await seat.leave()

    def seat(self) -> Seat:
        """A place for statements that follow each other: each on the connection of the last."""
        return Seat(self)

    async def acquire(self, deadline: float) -> Any:
        """Give a connection, a new one if need be.

        Raises:
            StoreUnavailable: there is none by the deadline (the event loop's clock).
        """
        patience = asyncio.timeout_at(deadline)
        self._waiting += 1
        try:
            async with patience:
                return await self._pool.acquire()
        except Exception as error:  # noqa: BLE001  # refused, starting up, too many, no such host
            if patience.expired() and self._pool.get_size() == self._size:
                raise StoreUnavailable("busy") from None
            self.complain(error)
            raise StoreUnavailable("unreachable") from None
        finally:
            self._waiting -= 1

    async def release(self, connection: Any) -> None:
        """Take a connection back, whatever its state."""
        with contextlib.suppress(asyncpg.InterfaceError):  # the pool was closed by force
            await self._pool.release(connection)

    def is_wanted(self) -> bool:
        """Whether somebody waits for a connection."""
        return self._waiting > 0

    def complain(self, error: Exception) -> None:
        """Tell, now and then, of an error that somebody has to look at."""
        self._complaints.tell(error)

    def deadline(self) -> float:
        """When an answer that is asked for now is due, by the event loop's clock."""
        return self._clock() + self._timeout

    def _server_settings(self) -> dict[str, str]:
        milliseconds = str(max(1, int(self._timeout * 1000 * _SERVER_SHARE)))
        return {
            "application_name": "preauth",
            **self._target.session,
            "statement_timeout": milliseconds,
            "idle_in_transaction_session_timeout": milliseconds,
            "timezone": "UTC",
            "jit": "off",
            **self._session,
        }


def session_settings(settings: Settings) -> dict[str, str]:
    """What a session must know of the settings."""
    chosen = {
        "preauth.default_plan": settings.default_plan,
        "preauth.default_parent": settings.default_parent,
        "preauth.denial_status": "402" if settings.denial_status == 402 else None,  # noqa: PLR2004
    }
    return {name: value for name, value in chosen.items() if value is not None}
