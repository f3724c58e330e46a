"""A place on a connection: kept from one statement to the next, while there are some."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Protocol

import asyncpg

from service.ledger.errors import LedgerError, StoreUnavailable, classify

__all__ = ["Seat"]

ATTEMPTS = 3
"""How often one statement is sent at most."""

_PAUSE_SECONDS = 0.005
"""Before sending again: time to notice which other connections are gone too."""


class Source(Protocol):
    """Where connections come from."""

    async def acquire(self, deadline: float) -> Any:
        """Give a connection, or raise a LedgerError."""

    async def release(self, connection: Any) -> None:
        """Take one back, whatever its state."""

    def is_wanted(self) -> bool:
        """Whether somebody waits for a connection."""

    def complain(self, error: Exception) -> None:
        """Tell of an error that somebody has to look at."""


class Seat:
    """Runs statements one after the other, each in its own transaction."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._connection: Any = None

    async def fetch(
        self, sql: str, args: Sequence[object], *, resend: bool, deadline: float
    ) -> Sequence[Any]:
        """Run one statement; `Connections.fetch` says how.

        Raises:
            LedgerError: never anything of asyncpg.
        """
        clock = asyncio.get_running_loop().time
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._attempt(deadline, sql, args)
            except LedgerError:
                raise
            except Exception as error:  # noqa: BLE001  # classified, and never let out
                failure = classify(error)
                if failure.rejected:
                    self._source.complain(error)
            in_time = clock() < deadline
            again = failure.rolled_back or (failure.lost and resend)
            if attempt == ATTEMPTS or not again or not in_time:
                raise failure.error if in_time else StoreUnavailable("timeout")
            await asyncio.sleep(_PAUSE_SECONDS * attempt)
        raise AssertionError("unreachable")

    async def leave(self) -> None:
        """Let others have the connection, until the next statement."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await self._source.release(connection)

    async def _attempt(self, deadline: float, sql: str, args: Sequence[object]) -> Sequence[Any]:
        if self._connection is None:
            self._connection = await self._source.acquire(deadline)
        try:
            rows = await _run(self._connection, deadline, sql, args)
        except asyncpg.PostgresError:
            await self.leave()
            raise
        except BaseException:  # cancelled, or in a state in which nobody should get it again
            _cut(self._connection)
            await self.leave()
            raise
        if self._source.is_wanted():
            await self.leave()
        return rows


async def _run(connection: Any, deadline: float, sql: str, args: Sequence[object]) -> Sequence[Any]:
    watchdog = asyncio.get_running_loop().call_at(deadline, _cut, connection)
    try:
        rows: Sequence[Any] = await connection.fetch(sql, *args)
    finally:
        watchdog.cancel()
    return rows


def _cut(connection: Any) -> None:
    with contextlib.suppress(asyncpg.InterfaceError):  # it is gone already
        connection.terminate()
