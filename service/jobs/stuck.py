"""Measure the holds that time will not end, so that somebody is told who can end them."""

from service import metrics
from service.jobs.loop import Loop
from service.ledger import Ledger

__all__ = ["MOST", "Stuck"]

MOST = 100
"""Holds that are counted, the oldest first: each costs the database a third of a millisecond."""

_STATES = ("unknown", "overage_review")


class Stuck(Loop):
    """Several workers measure the same: whichever did last is what is shown."""

    name = "stuck"

    def __init__(self, ledger: Ledger, interval_seconds: float) -> None:
        super().__init__(interval_seconds)
        self._ledger = ledger

    async def _one_batch(self) -> bool:
        found = {holds.state: holds for holds in await self._ledger.stuck(MOST)}
        for state in _STATES:
            holds = found.get(state)
            metrics.STUCK_HOLDS.labels(state).set(holds.holds if holds else 0)
            metrics.STUCK_SECONDS.labels(state).set(holds.oldest_seconds if holds else 0)
        return False
