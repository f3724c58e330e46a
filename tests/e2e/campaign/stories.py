"""What the clients do: lives of reservations, with replays and wrong turns."""

import asyncio
import random
from dataclasses import dataclass

from tests.e2e.campaign.client import Answer, Client, Json, Log

__all__ = ["Storyteller"]

TTL_SECONDS = 86400  # nothing expires during a campaign: the recount knows no clock


@dataclass
class Storyteller:
    """One client's stories, drawn from its own random numbers."""

    client: Client
    name: str
    accounts: list[str]
    random: random.Random
    told: int = 0

    @property
    def log(self) -> Log:
        return self.client.log

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    async def tell(self) -> None:
        """One story from beginning to end."""
        self.told += 1
        body: Json = {
            "request_id": f"{self.name}-{self.told}",
            "account_id": self.random.choice(self.accounts),
            "amounts": {
                "usd_nano": self.random.randrange(1, 2_000_000),
                "tokens": self.random.randrange(1, 2_000),
            },
        }
        if self.chance(10):
            await self.charged(body)
        elif self.chance(3):
            await self.unheard_of(body)
        else:
            await self.reserved(body)

    async def charged(self, body: Json) -> None:
        await self.client.call("charge", body)
        if self.chance(40):
            await self.client.call("charge", body)

    async def unheard_of(self, body: Json) -> None:
        """A settlement of what was never reserved."""
        answer = await self.client.call("settle", _settlement(body), remember=False)
        self.log.expect(answer.status == 404, f"settled what was never reserved: {answer}")

    async def reserved(self, body: Json) -> None:
        answer = await self._twice_at_once_or_once({**body, "ttl_seconds": TTL_SECONDS})
        if self.chance(10):
            await self.other_body(body)
        if answer.status == 200:
            await self.authorized(body)
        elif self.chance(30):
            await self.settled_though_denied(body)

    async def _twice_at_once_or_once(self, body: Json) -> Answer:
        if self.chance(15):
            first, _ = await asyncio.gather(
                self.client.call("reserve", body), self.client.call("reserve", body)
            )
            return first
        answer = await self.client.call("reserve", body)
        if self.chance(25):
            await self.client.call("reserve", body)
        return answer

    async def other_body(self, body: Json) -> None:
        """The same id for another amount."""
        other = {**body, "amounts": {"usd_nano": 1, "tokens": 1}, "ttl_seconds": 1}
        answer = await self.client.call("reserve", other, remember=False)
        self.log.expect(answer.status == 409, f"another body under a used id: {answer}")

    async def settled_though_denied(self, body: Json) -> None:
        answer = await self.client.call("settle", _settlement(body), remember=False)
        self.log.expect(answer.status == 409, f"a denied reservation was settled: {answer}")

    async def authorized(self, body: Json) -> None:
        """Most are settled, some released, some exceed their hold, some are left open."""
        ending = self.random.randrange(100)
        if ending < 65:
            await self.settled(body)
        elif ending < 85:
            await self.released(body)
        elif ending < 95:
            await self.exceeded(body)

    async def settled(self, body: Json) -> None:
        usage = _settlement(body, self.random.random())
        answer = await self.client.call("settle", usage)
        self.log.expect(answer.status == 200, f"{usage} was answered {answer}")
        if self.chance(30):
            await self.client.call("settle", usage)
        if self.chance(20):
            other = {
                **usage,
                "amounts": {"usd_nano": usage["amounts"]["usd_nano"] + 1, "tokens": 0},
            }
            wrong = await self.client.call("settle", other, remember=False)
            self.log.expect(wrong.status == 409, f"settled again with other usage: {wrong}")
        if self.chance(10):
            wrong = await self.client.call("release", _release(body), remember=False)
            self.log.expect(wrong.status == 409, f"released what was settled: {wrong}")

    async def released(self, body: Json) -> None:
        answer = await self.client.call("release", _release(body))
        self.log.expect(answer.status == 200, f"{body} was not released: {answer}")
        if self.chance(40):
            await self.client.call("release", _release(body))

    async def exceeded(self, body: Json) -> None:
        """Usage above the hold, where the budgets reject it: the hold must stay."""
        above = {unit: amount + 1 for unit, amount in body["amounts"].items()}
        usage = {**_settlement(body), "amounts": above}
        answer = await self.client.call("settle", usage, remember=False)
        self.log.expect(answer.status == 409, f"settled above the hold: {answer}")


def _settlement(body: Json, part: float = 1.0) -> Json:
    amounts = {unit: int(amount * part) for unit, amount in body["amounts"].items()}
    return {"request_id": body["request_id"], "account_id": body["account_id"], "amounts": amounts}


def _release(body: Json) -> Json:
    return {
        "request_id": body["request_id"],
        "account_id": body["account_id"],
        "reason": "the campaign changed its mind",
    }
