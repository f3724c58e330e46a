"""A client that sends each call until it is answered, now this way, now that."""

import asyncio
import random
import time
from dataclasses import dataclass

from tests.e2e.campaign.log import Json, Log, Times
from tests.e2e.campaign.roads import NoAnswer, Road, Said

__all__ = ["Client"]

PATIENCE_SECONDS = 300
PAUSE_SECONDS = 0.5


@dataclass
class Client:
    """``roads``: the one it prefers, and one that it takes now and then."""

    roads: tuple[Road, Road]
    log: Log
    random: random.Random

    async def call(self, name: str, body: Json) -> tuple[Said, Times]:
        """One call, until it is answered."""
        invoked = time.monotonic()
        said = await self._until_answered(lambda road: road.call(name, body))
        self._count(name, said)
        return said, Times(invoked, time.monotonic())

    async def call_many(self, name: str, bodies: list[Json]) -> list[tuple[Said, Times]]:
        """An array; items that got no answer are sent again one by one."""
        invoked = time.monotonic()
        many = await self._until_answered(lambda road: road.call_many(name, bodies))
        self.log.expect(len(many) == len(bodies), f"{len(bodies)} items, {len(many)} answers")
        found = []
        for body, said in zip(bodies, many, strict=True):
            answer = said
            if said[0] == 503:
                self.log.figures.no_answers["503 of an item"] += 1
                answer = await self._until_answered(lambda road, body=body: road.call(name, body))
            self._count(name, answer)
            found.append((answer, Times(invoked, time.monotonic())))
        return found

    async def _until_answered(self, attempt):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    return await attempt(self.roads[self.random.randrange(100) < 15])
                except NoAnswer as none:
                    self.log.figures.no_answers[none.why] += 1
                    self.log.expect(not none.wrong, f"over SQL: {none.why}")
                    await asyncio.sleep(PAUSE_SECONDS * self.random.random())

    def _count(self, name: str, said: Said) -> None:
        status, body = said
        self.log.count(name, status)
        self.log.expect(status < 500, f"{name} was answered {status} {body}")
