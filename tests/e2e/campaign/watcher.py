"""Looks at the windows while all this goes on: none may ever be over its hard limit."""

import asyncio
import contextlib
import random
from dataclasses import dataclass

import psycopg

from tests.e2e.campaign.log import Log
from tests.e2e.campaign.stage import Stage
from tests.e2e.campaign.tree import Tree

__all__ = ["Watcher"]

LOOK_SECONDS = 0.5


@dataclass
class Watcher:
    """Reads balances as an auditor does."""

    stage: Stage
    log: Log
    tree: Tree
    random: random.Random

    async def watch(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            with contextlib.suppress(psycopg.OperationalError):
                await self._look()
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        user = self.random.choice(self.tree.users)
        async with await psycopg.AsyncConnection.connect(self.stage.postgres.dsn) as connection:
            cursor = await connection.execute(
                "select preauth_api.balance(account_id => %s, audit => true)", [user]
            )
            row = await cursor.fetchone()
        assert row is not None
        for window in row[0]["windows"]:
            self.log.figures.counts["looks at windows"] += 1
            excused = self.log.excused[window["scope"], window["unit"]]
            if window["settled"] + window["reserved"] > window["limit"] + excused:
                self.log.figures.mismatch("over-admissions", f"seen under load: {window}")
