"""What goes wrong, one thing after another, at random instants."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import psycopg

from tests.e2e.campaign.log import Figures
from tests.e2e.campaign.proxy import Proxy
from tests.e2e.campaign.stage import DATABASE_TIMEOUT, MAX_CONNECTIONS, RARE, Stage
from tests.e2e.campaign.tree import Tree

__all__ = ["KILLS_AND_CUTS", "Adversary"]

KILLS_AND_CUTS = (
    "worker killed",
    "service killed",
    "service stopped",
    "postgres stopped at once",
    "postmaster killed",
    "backend killed",
    "backend terminated",
    "connections cut",
    "replies swallowed",
)


@dataclass
class Adversary:
    """Makes one fault after another until it is told to stop, and puts right what it broke."""

    stage: Stage
    figures: Figures
    tree: Tree
    random: random.Random
    pause_seconds: float

    async def rage(self, stopping: asyncio.Event) -> None:
        faults = self._faults()
        while not await self._pauses(stopping):
            name = self.random.choice(
                [n for n, (weight, _) in faults.items() for _ in range(weight)]
            )
            if await faults[name][1]():
                self.figures.faults[name] += 1

    async def _pauses(self, stopping: asyncio.Event) -> bool:
        """Wait a while, or until the end has come."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.random.random() * 2 * self.pause_seconds):
                await stopping.wait()
        return stopping.is_set()

    def _faults(self) -> dict[str, tuple[int, Callable[[], Awaitable[object]]]]:
        return {
            "worker killed": (3, self.kill_a_worker),
            "service killed": (2, self.kill_the_service),
            "service stopped": (1, self.stop_the_service),
            "postgres stopped at once": (2, self.stop_postgres_at_once),
            "postmaster killed": (1, self.kill_the_postmaster),
            "backend killed": (2, self.kill_a_backend),
            "backend terminated": (5, self.terminate_a_backend),
            "connections cut": (8, self.cut),
            "replies swallowed": (3, self.swallow),
            "slow network": (2, self.slow_down),
            "statements timed out": (2, self.hold_rows),
            "no connection left": (2, self.take_all_connections),
        }

    async def kill_a_worker(self) -> bool:
        """The supervisor puts another in its place."""
        if not await self._serves():
            return False
        await asyncio.to_thread(self.stage.served.kill_a_worker)
        return True

    async def kill_the_service(self) -> bool:
        if not await self._serves():
            return False
        await asyncio.to_thread(self.stage.served.end)
        self.stage.served.launch()
        return True

    async def stop_the_service(self) -> bool:
        if not await self._serves():
            return False
        await asyncio.to_thread(self.stage.served.stop)
        self.stage.served.launch()
        return True

    async def _serves(self) -> bool:
        """Not while it starts: it would never come to serve."""
        return await asyncio.to_thread(self.stage.served.answers)

    async def stop_postgres_at_once(self) -> bool:
        """As ``pg_ctl stop -m immediate`` does."""
        await asyncio.to_thread(self.stage.postgres.stop, "immediate")
        await self.stage.raise_postgres()
        return True

    async def kill_the_postmaster(self) -> bool:
        await asyncio.to_thread(self.stage.postgres.kill)
        await self.stage.raise_postgres()
        return True

    async def kill_a_backend(self) -> bool:
        """PostgreSQL ends every session and recovers."""
        backends = self.stage.backends()
        if not backends:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.random.choice(backends), signal.SIGKILL)
        return True

    async def terminate_a_backend(self) -> bool:
        backends = self.stage.backends()
        if not backends:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.random.choice(backends), signal.SIGTERM)
        return True

    def _way(self) -> Proxy:
        return self.random.choice(self.stage.proxies)

    async def cut(self) -> bool:
        return self._way().cut_all() > 0

    async def swallow(self) -> bool:
        """Requests arrive and are carried out; nobody hears of it."""
        way = self._way()
        way.weather = replace(RARE, dark=True)
        await asyncio.sleep(self.random.random() * DATABASE_TIMEOUT)
        way.weather = RARE
        return way.cut_all() > 0

    async def slow_down(self) -> bool:
        way = self._way()
        way.weather = replace(RARE, delay=0.5, delay_seconds=0.2)
        await asyncio.sleep(self.random.random() * 3)
        way.weather = RARE
        return True

    async def hold_rows(self) -> bool:
        """The busiest row is locked for longer than a statement may take."""
        with contextlib.suppress(psycopg.OperationalError):
            async with await self._connect() as connection, connection.transaction():
                await connection.execute(
                    "select from preauth.budget_window where account_id = %s for update",
                    [self.tree.root],
                )
                await asyncio.sleep(DATABASE_TIMEOUT * 1.3)
            return True
        return False

    async def take_all_connections(self) -> bool:
        """PostgreSQL refuses new sessions, and those that are there are ended."""
        async with contextlib.AsyncExitStack() as taken:
            for backend in self.stage.backends():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(backend, signal.SIGTERM)
            with contextlib.suppress(psycopg.OperationalError):
                for _ in range(MAX_CONNECTIONS):
                    await taken.enter_async_context(await self._connect())
            await asyncio.sleep(self.random.random() * DATABASE_TIMEOUT)
        return True

    async def _connect(self) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(self.stage.postgres.dsn, autocommit=True)
