"""Write down what time alone has done, again and again, whether or not the database is there."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import structlog

from service import metrics
from service.ledger import Ledger, LedgerError, StoreUnavailable

__all__ = ["BATCH", "Expiry"]

BATCH = 100
"""Holds, plan changes or raises in one transaction; a full batch is followed by another at once."""

_STOP_SECONDS = 2.0

_log = structlog.get_logger("preauth.expiry")


class Expiry:
    """The loop. Several workers don't get into each other's way: rows that one has are skipped."""

    def __init__(self, ledger: Ledger, interval_seconds: float) -> None:
        self._ledger = ledger
        self._interval = interval_seconds
        self._stopping = asyncio.Event()
        self._down = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run beside the service; at the end let the batch in flight finish."""
        task = asyncio.create_task(self._run(), name="expiry")
        try:
            yield
        finally:
            self._stopping.set()
            await asyncio.wait([task], timeout=_STOP_SECONDS)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while not self._stopping.is_set():
            await self._sweep()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._interval)

    async def _sweep(self) -> None:
        try:
            while await self._one_batch() >= BATCH and not self._stopping.is_set():
                pass
        except StoreUnavailable as error:
            metrics.STORE_UNAVAILABLE.labels(error.cause).inc()
            self._note(down=True, cause=error.cause)
        except LedgerError as error:
            _log.error("expiry_failed", kind=type(error).__name__, reason=str(error))
        else:
            self._note(down=False)

    async def _one_batch(self) -> int:
        count = await self._ledger.expire_due(BATCH)
        metrics.EXPIRED.inc(count)
        return max(count, await self._ledger.apply_due(BATCH))

    def _note(self, *, down: bool, cause: str = "") -> None:
        """One line when the store goes, one when it is back."""
        if down != self._down:
            self._down = down
            _log.warning(
                "store_lost" if down else "store_back", **({"cause": cause} if down else {})
            )
