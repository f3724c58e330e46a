"""Natural batching: calls that come while a batch is under way go together in the next one.

A call that finds its lane idle goes at once. There is no timer: nobody waits for company, only
for the lane. One durable commit then serves many calls, where each on its own would wait for
the row lock that the one before it holds through its flush.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from itertools import takewhile
from math import inf
from typing import Any, Protocol

from service.ledger.errors import LedgerFault, StoreUnavailable
from service.ledger.outcome import Outcome

__all__ = ["MOST_AT_ONCE", "Carrier", "Coalescer", "Passenger", "Waiting"]

MOST_AT_ONCE = 512
"""Items in one batch: the ledger takes no more."""


class Waiting(Protocol):
    """Who waits for an answer: a future, or what is as good as one."""

    def done(self) -> bool:
        """Whether it has its answer or has gone away."""

    def set_result(self, result: Outcome, /) -> None:
        """Take the answer."""

    def set_exception(self, exception: Exception, /) -> None:
        """Take the reason why there is none."""


class Passenger:
    """One call on its way, and who waits for its answer."""

    __slots__ = ("account_id", "actor", "answer", "deadline", "item", "name", "within")

    def __init__(  # noqa: PLR0917  # made for every call, and names cost time
        self,
        name: str,
        item: str,
        actor: str | None,
        within: str | None,
        account_id: str | None,
        deadline: float,
        answer: Waiting,
    ) -> None:
        self.name = name
        self.item = item
        self.actor = actor
        self.within = within
        self.account_id = account_id
        self.deadline = deadline
        self.answer = answer

    def arrive(self, outcome: Outcome) -> None:
        """Answer the call, unless its caller has gone away or given up."""
        if not self.answer.done():
            self.answer.set_result(outcome)

    def refuse(self, error: Exception) -> None:
        """Fail the call, unless its caller has gone away or given up."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Carrier(Protocol):
    """What makes the batches of one lane."""

    async def fly(self, name: str, batch: Sequence[Passenger], deadline: float) -> Sequence[Any]:
        """Make a batch of calls of one name by a deadline (the event loop's clock)."""

    def read(self, batch: Sequence[Passenger], brought: Sequence[Any]) -> list[Outcome]:
        """Each call's outcome, from what `fly` brought."""

    async def rest(self) -> None:
        """Keep nothing from others: there is no batch to make."""


class Coalescer:
    """A few lanes, each with one batch under way at most; calls that meet on rows share one."""

    def __init__(self, carriers: Sequence[Carrier]) -> None:
        self._lanes = [_Lane(carrier) for carrier in carriers]

    def send(self, passengers: Sequence[Passenger], shard: str | None) -> None:
        """Send calls along with the others of their shard: a root account, null if unknown.

        One lane takes them all and decides them in this order. Each is answered, if by a
        LedgerError; a caller that is cancelled cancels nobody else. Who is sent later may not
        have the earlier deadline.
        """
        lane = self._lanes[hash(shard) % len(self._lanes)]
        for passenger in passengers:
            lane.board(passenger)

    async def drain(self) -> None:
        """Wait until every call that was sent has its answer."""
        await asyncio.gather(*(lane.idle() for lane in self._lanes))


class _Patience:
    """One timer for all calls of a lane: setting and stopping one for each costs more.

    It goes on where its lane is idle, and then rings for nobody.
    """

    def __init__(self, over: Callable[[float], None]) -> None:
        self._over = over
        self._until = inf
        self._timer: asyncio.TimerHandle | None = None

    def last_until(self, deadline: float) -> None:
        """Ring then, if not before."""
        if deadline < self._until:
            if self._timer is not None:
                self._timer.cancel()
            self._until = deadline
            self._timer = asyncio.get_running_loop().call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._until, self._timer = inf, None
        self._over(asyncio.get_running_loop().time())


class _Lane:
    """Calls that wait, by name, and the batch under way."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._waiting: dict[str, deque[Passenger]] = {}
        self._under_way: Sequence[Passenger] = ()
        self._task: asyncio.Task[None] | None = None
        self._patience = _Patience(self._give_up)

    def board(self, passenger: Passenger) -> None:
        self._patience.last_until(passenger.deadline)
        self._waiting.setdefault(passenger.name, deque()).append(passenger)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def _give_up(self, now: float) -> None:
        """Answer those who have waited long enough, whatever becomes of who travels along."""
        for passenger in takewhile(lambda p: p.deadline <= now, self._under_way):
            passenger.refuse(StoreUnavailable("timeout"))
        for queue in self._waiting.values():
            while queue and queue[0].deadline <= now:
                queue.popleft().refuse(StoreUnavailable("busy"))
        self._waiting = {name: queue for name, queue in self._waiting.items() if queue}
        for line in (self._under_way, *self._waiting.values()):
            if patient := next((p for p in line if p.deadline > now), None):
                self._patience.last_until(patient.deadline)

    async def idle(self) -> None:
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            while self._waiting:
                while batch := self._take():
                    self._under_way = batch
                    await self._carry(batch)
                self._under_way = ()
                await self._carrier.rest()
        finally:
            self._under_way = ()
            self._task = None

    def _take(self) -> list[Passenger]:
        """The calls to go next: of the name whose first has waited longest.

        Half of all that are in flight, not all: while these are in the database, those
        whose answers have just come are on their way back with their next call.
        """
        now = asyncio.get_running_loop().time()
        while self._waiting:
            name = min(self._waiting, key=lambda n: self._waiting[n][0].deadline)
            queue = self._waiting[name]
            most = min(MOST_AT_ONCE, (len(queue) + len(self._under_way) + 1) // 2)
            batch = [queue.popleft() for _ in range(min(most, len(queue)))]
            if not queue:
                del self._waiting[name]
            if ready := [p for p in batch if _is_in_time(p, now)]:
                return ready
        return []

    async def _carry(self, batch: list[Passenger]) -> None:
        """By the latest deadline: who has less time gives up alone, and cuts no neighbour's."""
        try:
            deadline = max(p.deadline for p in batch)
            brought = await self._carrier.fly(batch[0].name, batch, deadline)
        except LedgerFault as fault:
            await self._carry_one_by_one(batch, fault)
        except Exception as error:  # noqa: BLE001  # it is each caller's, the lane goes on
            for passenger in batch:
                passenger.refuse(error)
        else:
            # Not before the next batch has left: to read this one can wait.
            asyncio.get_running_loop().call_soon(self._arrive, batch, brought)

    def _arrive(self, batch: list[Passenger], brought: Sequence[Any]) -> None:
        try:
            outcomes = self._carrier.read(batch, brought)
        except Exception as error:  # noqa: BLE001  # it is each caller's, the lane goes on
            for passenger in batch:
                passenger.refuse(error)
            return
        for passenger, outcome in zip(batch, outcomes, strict=True):
            passenger.arrive(outcome)

    async def _carry_one_by_one(self, batch: list[Passenger], fault: LedgerFault) -> None:
        """One item may be at fault: its neighbours must not suffer. Nothing was written."""
        if len(batch) == 1:
            batch[0].refuse(fault)
            return
        clock = asyncio.get_running_loop().time
        for passenger in batch:
            if _is_in_time(passenger, clock()):
                await self._carry([passenger])


def _is_in_time(passenger: Passenger, now: float) -> bool:
    """Leaves out a call whose caller has gone away, and one that has waited too long."""
    if passenger.answer.done():
        return False
    if passenger.deadline <= now:
        passenger.refuse(StoreUnavailable("busy"))
        return False
    return True
