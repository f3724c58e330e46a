"""What takes batches of calls to the ledger's functions."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from service import metrics
from service.ledger.coalescer import Passenger
from service.ledger.outcome import Outcome
from service.ledger.records import CALLS
from service.ledger.seat import Seat

__all__ = ["LedgerCarrier"]

MOST_ROOTS = 100_000

_BATCHES: dict[str, str] = {
    name: f"select status, headers, body, root from preauth_api.{name}_many($1, $2, $3)"  # noqa: S608
    for name in CALLS
}


class LedgerCarrier:
    """A batch is one function call, one transaction. One carrier for each lane.

    ``roots``: what is learnt of accounts' trees, only for choosing lanes: a root that is out of
    date costs a wait, nothing else.
    """

    def __init__(self, seat: Seat, roots: dict[str | None, str]) -> None:
        self._seat = seat
        self._roots = roots

    async def fly(self, name: str, batch: Sequence[Passenger], deadline: float) -> Sequence[Any]:
        """Make a batch of calls of one name by a deadline (the event loop's clock).

        Raises:
            LedgerError: they have no answers.
        """
        started = perf_counter()
        items = f"[{','.join([p.item for p in batch])}]"
        args = (items, [p.actor for p in batch], [p.within for p in batch])
        rows = await self._seat.fetch(_BATCHES[name], args, resend=True, deadline=deadline)
        metrics.STORE_SECONDS[name].observe(perf_counter() - started)
        return rows

    def read(self, batch: Sequence[Passenger], rows: Sequence[Any]) -> list[Outcome]:
        """The outcomes of a batch, in its order, from what `fly` brought."""
        outcomes = [Outcome.of(row[0], row[1], row[2], row[3]) for row in rows]
        for passenger, outcome in zip(batch, outcomes, strict=True):
            if outcome.root is not None and passenger.account_id is not None:
                if len(self._roots) >= MOST_ROOTS:
                    self._roots.clear()
                self._roots[passenger.account_id] = outcome.root
        return outcomes

    async def rest(self) -> None:
        """Nobody waits: others may have the connection."""
        await self._seat.leave()
