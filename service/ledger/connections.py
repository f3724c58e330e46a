"""Connections to PostgreSQL: opened lazily, bounded in number and in time."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import asyncpg

from service.ledger.complaints import Complaints
from service.ledger.errors import LedgerError, StoreUnavailable, classify
from service.ledger.target import Target
from service.settings import Settings

__all__ = ["Connections", "session_settings"]

ATTEMPTS = 3
"""How often one statement is sent at most."""

_SERVER_SHARE = 0.9
"""The server gives up first, so that its clean error beats our cutting the connection."""

_PAUSE_SECONDS = 0.005
"""Before sending again: time to notice which other connections are gone too."""

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

    async def open(self) -> None:
        """Make the pool, without connecting."""
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

    async def fetch(
        self, sql: str, *args: object, resend: bool, deadline: float | None = None
    ) -> Sequence[Any]:
        """Run one statement in its own transaction.

        ``resend``: the statement is idempotent, so it is sent again when the connection
        was lost before the answer came. ``deadline``: as of `deadline`, which is the default.

        Raises:
            LedgerError: never anything of asyncpg.
        """
        deadline = self.deadline() if deadline is None else deadline
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._attempt(deadline, sql, args)
            except LedgerError:
                raise
            except Exception as error:  # noqa: BLE001  # classified, and never let out
                failure = classify(error)
                if failure.rejected:
                    self._complaints.tell(error)
            in_time = self._clock() < deadline
            again = failure.rolled_back or (failure.lost and resend)
            if attempt == ATTEMPTS or not again or not in_time:
                raise failure.error if in_time else StoreUnavailable("timeout")
            await asyncio.sleep(_PAUSE_SECONDS * attempt)
        raise AssertionError("unreachable")

    async def _attempt(self, deadline: float, sql: str, args: tuple[object, ...]) -> Sequence[Any]:
        connection = await self._acquire(deadline)
        watchdog = asyncio.get_running_loop().call_at(deadline, connection.terminate)
        try:
            rows: Sequence[Any] = await connection.fetch(sql, *args)
        except asyncpg.PostgresError:
            raise
        except BaseException:  # cancelled, or in a state in which nobody should get it again
            connection.terminate()
            raise
        finally:
            watchdog.cancel()
            await self._pool.release(connection)
        return rows

    async def _acquire(self, deadline: float) -> Any:
        patience = asyncio.timeout_at(deadline)
        try:
            async with patience:
                return await self._pool.acquire()
        except Exception as error:  # noqa: BLE001  # refused, starting up, too many, no such host
            if patience.expired() and self._pool.get_size() == self._size:
                raise StoreUnavailable("busy") from None
            self._complaints.tell(error)
            raise StoreUnavailable("unreachable") from None

    def deadline(self) -> float:
        """When an answer that is asked for now is due, by the event loop's clock."""
        return self._clock() + self._timeout

    @staticmethod
    def _clock() -> float:
        return asyncio.get_running_loop().time()

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
