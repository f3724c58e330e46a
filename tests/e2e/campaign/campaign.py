"""Rounds of load and faults, each checked when it has come to rest."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from tests.e2e.campaign import recount, sweep
from tests.e2e.campaign.client import Client
from tests.e2e.campaign.faults import Adversary
from tests.e2e.campaign.log import Figures, Log
from tests.e2e.campaign.roads import Http, Road, Sql
from tests.e2e.campaign.spender import Spender
from tests.e2e.campaign.stage import KEY, Stage
from tests.e2e.campaign.stories import Storyteller
from tests.e2e.campaign.treasurer import Treasurer
from tests.e2e.campaign.tree import Tree, prepare_plans
from tests.e2e.campaign.watcher import Watcher
from tests.support.session import Session

__all__ = ["Campaign", "Options"]

SQL_CONNECTIONS = 12


@dataclass(frozen=True)
class Options:
    """How much of it."""

    minutes: float = 1.0
    clients: int = 64
    workers: int = 2
    seed: int = 1
    round_seconds: float = 40.0
    pause_seconds: float = 4.0
    """Between two faults, on the average; 0: no faults."""


@dataclass
class Campaign:
    """One campaign on a stage that is set."""

    options: Options
    stage: Stage
    say: Callable[[str], None] = lambda what: print(what, flush=True)
    figures: Figures = field(default_factory=Figures)
    new_log: Callable[[Figures], Log] = Log
    rounds: int = 0

    async def run(self) -> Figures:
        """All of it."""
        async with self.opened():
            ends = time.monotonic() + self.options.minutes * 60
            while (left := ends - time.monotonic()) > 1:
                await self.round(min(left, self.options.round_seconds))
        return self.figures

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """On a stage that is set, with plans and prices; at the end the whole ledger is looked at."""
        try:
            await self.stage.open()
            async with self._session() as session:
                await prepare_plans(session)
            yield
            await asyncio.to_thread(self.stage.served.stop)
            await asyncio.to_thread(self._look_inside)
        finally:
            await self.stage.close()

    def _look_inside(self) -> None:
        for fault in recount.inside_the_database(self.stage.postgres.dsn):
            self.figures.mismatch("mismatches", fault)
        for _ in range(self.stage.deadlocks()):
            self.figures.mismatch("deadlocks", "PostgreSQL broke up a deadlock: see its log")

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncIterator[Session]:
        session = await Session.open(self.stage.postgres.dsn)
        try:
            yield session
        finally:
            await session.close()

    async def round(self, seconds: float) -> None:
        """Load and faults on accounts of its own, then rest, and the checks."""
        self.rounds += 1
        tree, log = Tree(self.rounds), self.new_log(self.figures)
        async with self._session() as session:
            await tree.plant(session)
        before = self.figures.counts["operations"]
        await self._load(tree, log, seconds)
        began = time.monotonic()
        await self._check(tree, log)
        self.say(
            f"round {tree.number}: {self.figures.counts['operations'] - before} operations"
            f" in {seconds:.0f} s, checked in {time.monotonic() - began:.1f} s,"
            f" {len(self.figures.mismatches)} mismatches so far"
        )

    async def _load(self, tree: Tree, log: Log, seconds: float) -> None:
        stopping = asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, stopping.set)
        http = Http(self.stage.front.port, KEY)
        sql = Sql(self.stage.url(self.stage.side.port), SQL_CONNECTIONS)
        spenders = [self._spender(n, tree, log, http, sql) for n in range(self.options.clients + 1)]
        treasurer = Treasurer(spenders.pop())
        tellers = [
            Storyteller(spender, f"{tree.root}.{n}", spender.client.random)
            for n, spender in enumerate(spenders)
        ]
        await asyncio.gather(
            *(_until(stopping, teller.tell) for teller in tellers),
            _until(stopping, treasurer.work),
            *self._others(tree, log, stopping),
        )
        await http.close()
        await sql.close()

    def _spender(self, n: int, tree: Tree, log: Log, http: Http, sql: Sql) -> Spender:
        """Every fourth prefers SQL."""
        roads: tuple[Road, Road] = (http, sql) if n % 4 else (sql, http)
        return Spender(Client(roads, log, self._random(f"{tree.number}.{n}")), tree)

    def _random(self, name: str) -> random.Random:
        return random.Random(f"{self.options.seed}.{name}")

    def _others(self, tree: Tree, log: Log, stopping: asyncio.Event) -> Iterator[Awaitable[None]]:
        rng = self._random(f"{tree.number}.faults")
        yield Watcher(self.stage, log, tree, rng).watch(stopping)
        if self.options.pause_seconds:
            self.stage.foul()
            yield Adversary(self.stage, self.figures, tree, rng, self.options.pause_seconds).rage(
                stopping
            )
            yield self._clear(stopping)

    async def _clear(self, stopping: asyncio.Event) -> None:
        """What is under way at the end of a round gets its answer in fair weather."""
        await stopping.wait()
        self.stage.clear()

    async def _check(self, tree: Tree, log: Log) -> None:
        async with self._session() as session:
            await sweep.look_at_what_time_did(session, log)
            await recount.recount_windows(session, log, tree)
            await recount.send_all_again(session, log)
            await recount.recount_windows(session, log, tree)
        recount.explain_histories(log)


async def _until(stopping: asyncio.Event, work: Callable[[], Awaitable[None]]) -> None:
    while not stopping.is_set():
        await work()
