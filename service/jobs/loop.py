"""What runs beside the service, again and again, whether or not the database is there."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any

import structlog

from service import metrics
from service.ledger import LedgerError, StoreUnavailable

__all__ = ["Loop"]

_STOP_SECONDS = 2.0


class Loop(ABC):
    """Batches while they are full, then a pause. Several workers may each run one."""

    name: str
    """Of the task, and of the log's lines."""

    def __init__(self, interval_seconds: float) -> None:
        self._interval = interval_seconds
        self._stopping = asyncio.Event()
        self._down = False
        self._log: Any = structlog.get_logger(f"preauth.{self.name}")

    @abstractmethod
    async def _one_batch(self) -> bool:
        """Do what is due, a bounded part of it; whether more may be due."""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run beside the service; at the end let the batch in flight finish, for a while."""
        task = asyncio.create_task(self._run(), name=self.name)
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
            while await self._one_batch() and not self._stopping.is_set():
                pass
        except StoreUnavailable as error:
            metrics.STORE_UNAVAILABLE.labels(error.cause).inc()
            self._note(down=True, cause=error.cause)
        except Exception as error:  # noqa: BLE001  # whatever it is, the loop goes on
            # What others say may hold what a caller sent.
            reason = str(error) if isinstance(error, LedgerError) else None
            self._log.error(f"{self.name}_failed", kind=type(error).__name__, reason=reason)
        else:
            self._note(down=False)

    def _note(self, *, down: bool, cause: str = "") -> None:
        """One line when the store goes, one when it is back."""
        if down != self._down:
            self._down = down
            self._log.warning(
                "store_lost" if down else "store_back", **({"cause": cause} if down else {})
            )
