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
        self._failures = metrics.JOB_FAILURES.labels(self.name)
        self._log: Any = structlog.get_logger(f"preauth.{self.name}")

    @abstractmethod
    async def _one_batch(self) -> bool:
        """Do what is due, a bounded part of it; whether more may be due."""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run beside the service; at the end let the batch in flight finish, for a while."""
        task = asyncio.create_task(self._run(), name=self.name)
        task.add_done_callback(self._tell_early_end)
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
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            self._report(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, the loop goes on
            self._report(error)
        else:
            self._report(None)

    def _report(self, error: BaseException | None) -> None:
        """Say what became of a sweep. A metric or a line that cannot be written ends no loop."""
        with contextlib.suppress(Exception):
            if isinstance(error, StoreUnavailable):
                metrics.STORE_UNAVAILABLE.labels(error.cause).inc()
                self._note(down=True, cause=error.cause)
            elif error is None:
                self._note(down=False)
            else:
                self._failures.inc()
                # What others say may hold what a caller sent.
                reason = str(error) if isinstance(error, LedgerError) else None
                self._log.error(f"{self.name}_failed", kind=type(error).__name__, reason=reason)

    def _tell_early_end(self, task: asyncio.Task[None]) -> None:
        """Nobody awaits the task while the service runs: its end would go unnoticed."""
        if self._stopping.is_set():
            return
        self._failures.inc()
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        self._log.error(f"{self.name}_ended", kind=type(error).__name__)

    def _note(self, *, down: bool, cause: str = "") -> None:
        """One line when the store goes, one when it is back."""
        if down != self._down:
            self._down = down
            self._log.warning(
                "store_lost" if down else "store_back", **({"cause": cause} if down else {})
            )


def _is_cancelled() -> bool:
    """Whether this task is, and not something that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
