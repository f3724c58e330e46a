"""What the clients do: lives of reservations, with repetitions, arrays and wrong turns."""

import asyncio
import random
import time
from dataclasses import dataclass

from tests.e2e.campaign.log import Json
from tests.e2e.campaign.spender import TTL_SECONDS, Hold, Spender
from tests.e2e.campaign.tree import TOKENS, USD, amounts_of
from tests.support.prices import MODEL

__all__ = ["Storyteller"]


@dataclass
class Storyteller:
    """One client's stories, drawn from its own random numbers."""

    spender: Spender
    name: str
    random: random.Random
    told: int = 0

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    async def tell(self) -> None:
        """One story from beginning to end."""
        plot = self.random.randrange(100)
        if plot < 12:
            await self.charged()
        elif plot < 24:
            await self.together()
        elif plot < 26:
            await self.unheard_of()
        elif plot < 34:
            await self.expiring()
        else:
            await self.reserved()

    def asks(self) -> Json:
        """A new request: told in amounts or by usage of a model, or with alternatives."""
        self.told += 1
        body: Json = {
            "request_id": f"{self.name}-{self.told}",
            "account_id": self.random.choice(self.spender.tree.users),
        }
        kind = self.random.randrange(10)
        if kind < 7:
            return {**body, **self._amounts(2)}
        priced = {"model": MODEL, "max_usage": self._usage(300, 80)}
        if kind < 9:
            return {**body, **priced}
        cheaper = {"model": MODEL, "max_usage": self._usage(60, 15)}
        return {**body, **self._amounts(6), "alternatives": [cheaper, self._amounts(0.5)]}

    def _amounts(self, most: float) -> Json:
        return {
            "amounts": {
                "usd_nano": self.random.randrange(1, int(most * USD)),
                "tokens": self.random.randrange(1, int(most * TOKENS)),
            }
        }

    def _usage(self, inputs: int, outputs: int) -> Json:
        return {
            "input_tokens": self.random.randrange(1, inputs),
            "output_tokens": self.random.randrange(1, outputs),
        }

    async def charged(self) -> None:
        body = self.asks()
        body.pop("alternatives", None)
        await self.spender.reserve(body, "charge")
        if self.chance(30):
            await self.spender.reserve(body, "charge")

    async def together(self) -> None:
        """An array of reservations, then one of settlements."""
        bodies = [
            {**self.asks(), "ttl_seconds": TTL_SECONDS}
            for _ in range(2 + self.random.randrange(12))
        ]
        holds = [h for h in await self.spender.reserve_many(bodies) if h.authorized]
        if not holds:
            return
        usages = [self._usage_of(hold) for hold in holds]
        answers = await self.spender.client.call_many("settle", usages)
        for hold, usage, answer in zip(holds, usages, answers, strict=True):
            self.spender.ended("settle", hold, usage, *answer)

    async def unheard_of(self) -> None:
        """A settlement of what was never reserved."""
        body = self.asks()
        usage = {"amounts": {"usd_nano": 1, "tokens": 1}}
        name = {"request_id": body["request_id"], "account_id": body["account_id"]}
        await self.spender.refused("settle", {**name, **usage}, 404)

    async def expiring(self) -> None:
        """A hold of a moment: left to time, or ended about when it ends by itself."""
        ttl = 1 + self.random.randrange(3)
        hold = await self.spender.reserve({**self.asks(), "ttl_seconds": ttl})
        if not hold.authorized:
            return
        if self.chance(70):
            self.spender.abandon(hold)
            return
        await asyncio.sleep(hold.expires_at - time.monotonic() + self.random.gauss(0.1, 0.2))
        await self.spender.end_late(hold, self._usage_of(hold))

    async def reserved(self) -> None:
        hold = await self._once_or_more({**self.asks(), "ttl_seconds": TTL_SECONDS})
        if self.chance(6):
            other = {**hold.name, "amounts": {"usd_nano": 1, "tokens": 1}, "ttl_seconds": 1}
            await self.spender.refused("reserve", other, 409)
        if hold.authorized:
            await self.authorized(hold)
        elif self.chance(15):
            settlement = {**hold.name, "amounts": {"usd_nano": 1, "tokens": 1}}
            await self.spender.refused("settle", settlement, 409)

    async def _once_or_more(self, body: Json) -> Hold:
        if self.chance(8):
            hold, again = await asyncio.gather(
                self.spender.reserve(body), self.spender.reserve(body)
            )
            assert hold.authorized == again.authorized, body
            return hold
        hold = await self.spender.reserve(body)
        if self.chance(10):
            await self.spender.reserve(body)
        return hold

    async def authorized(self, hold: Hold) -> None:
        """Most are settled; some come back, exceed their hold, wait for a person, stay open."""
        ending = self.random.randrange(100)
        if ending < 12:
            await self.spender.done("extend", {**hold.name, "ttl_seconds": TTL_SECONDS})
        elif ending < 20:
            await self.spender.done("cancel", hold.name)
        if ending < 66:
            await self.settled(hold)
        elif ending < 82:
            await self.released(hold)
        elif ending < 88:
            await self.exceeded(hold)
        elif ending < 94:
            await self.unknown(hold)

    def _usage_of(self, hold: Hold) -> Json:
        """Less than the hold, told as the request was: in amounts or as usage."""
        part = self.random.random()
        if "max_usage" in hold.body:
            bounds = hold.body["max_usage"]
            return {**hold.name, "usage": {name: int(most * part) for name, most in bounds.items()}}
        held = {unit: amount for unit, amount in hold.amounts.items() if unit != "requests"}
        return {**hold.name, "amounts": {unit: int(amount * part) for unit, amount in held.items()}}

    async def settled(self, hold: Hold) -> None:
        usage = self._usage_of(hold)
        await self.spender.end("settle", hold, usage)
        if self.chance(15):
            await self.spender.end("settle", hold, usage)
        if self.chance(8):
            other = {
                unit: amount + 1 for unit, amount in amounts_of(usage).items() if unit != "requests"
            }
            await self.spender.refused("settle", {**hold.name, "amounts": other}, 409)
        if self.chance(4):
            await self.spender.refused("release", {**hold.name, "reason": "too late"}, 409)

    async def released(self, hold: Hold) -> None:
        body = {**hold.name, "reason": "the campaign changed its mind"}
        await self.spender.end("release", hold, body)
        if self.chance(25):
            await self.spender.end("release", hold, body)

    async def exceeded(self, hold: Hold) -> None:
        """Usage above the hold, where the budgets reject it: the hold stays until it is resolved."""
        above = {u: amount + 1 for u, amount in hold.amounts.items() if u != "requests"}
        await self.spender.refused("settle", {**hold.name, "amounts": above}, 409)
        if self.chance(70):
            await self.resolved(hold)

    async def unknown(self, hold: Hold) -> None:
        answer = await self.spender.done("settle", {**hold.name, "outcome": "unknown"})
        self.spender.log.expect(answer.get("state") == "unknown", f"{hold.body}: {answer}")
        await self.resolved(hold)

    async def resolved(self, hold: Hold) -> None:
        """A person decides."""
        if self.chance(50):
            body = {**hold.name, "action": "release", "reason": "no work was done"}
            await self.spender.end("resolve", hold, body)
        else:
            usage = self._usage_of(hold)
            body = {**usage, "action": "settle", "reason": "the invoice says so"}
            await self.spender.end("resolve", hold, body)
