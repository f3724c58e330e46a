"""Write down what time alone has done, again and again."""

from service import metrics
from service.jobs.loop import Loop
from service.ledger import Ledger

__all__ = ["BATCH", "Expiry"]

BATCH = 100
"""Holds, plan changes or raises in one transaction; a full batch is followed by another at once."""


class Expiry(Loop):
    """Several workers don't get into each other's way: rows that one has are skipped."""

    name = "expiry"

    def __init__(self, ledger: Ledger, interval_seconds: float) -> None:
        super().__init__(interval_seconds)
        self._ledger = ledger

    async def _one_batch(self) -> bool:
        count = await self._ledger.expire_due(BATCH)
        metrics.EXPIRED.inc(count)
        return max(count, await self._ledger.apply_due(BATCH)) >= BATCH
