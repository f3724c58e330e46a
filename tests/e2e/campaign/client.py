"""A client that sends each call until it is answered, and remembers what it was told."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

__all__ = ["Answer", "Client", "Log"]

Json = dict[str, Any]

NOT_NOW = 503
PAUSE_SECONDS = 0.25
PATIENCE_SECONDS = 300
PRESENT = {"replayed", "state", "expires_at"}
"""What a replay says as it is now: where the reservation has come to since."""


@dataclass(frozen=True)
class Answer:
    """What was acknowledged for a call: its status and body but for what a replay may change."""

    status: int
    body: Json

    @classmethod
    def of(cls, response: httpx.Response) -> "Answer":
        body = response.json()
        return cls(response.status_code, {k: v for k, v in body.items() if k not in PRESENT})


@dataclass
class Log:
    """All that was acknowledged, and every contradiction seen on the way."""

    answers: dict[tuple[str, str], tuple[Json, Answer]] = field(default_factory=dict)
    """(call, request_id) -> (body sent, first answer), for the calls that move money."""
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def acknowledge(self, call: str, body: Json, answer: Answer) -> None:
        """Note an answer; a second one to the same body must equal the first."""
        self.counts["calls"] += 1
        self.counts[f"{call} {answer.status}"] += 1
        key = (call, str(body["request_id"]))
        sent, first = self.answers.setdefault(key, (body, answer))
        if sent == body and first != answer:
            self.fault(f"{call} {body} was answered {first}, then {answer}")

    def expect(self, condition: object, what: str) -> None:
        if not condition:
            self.fault(what)

    def fault(self, what: str) -> None:
        self.faults.append(what)


@dataclass
class Client:
    """Sends calls over one shared pool of connections."""

    http: httpx.AsyncClient
    log: Log

    async def post(self, call: str, body: Json) -> httpx.Response:
        """POST it until there is an answer that is not "try again"."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (response := await self._try(call, body)) is None:
                self.log.counts["attempts without an answer"] += 1
                await asyncio.sleep(PAUSE_SECONDS)
        return response

    async def call(self, call: str, body: Json, *, remember: bool = True) -> Answer:
        """Send it until it is answered, and note the answer."""
        answer = Answer.of(await self.post(call, body))
        if remember:
            self.log.acknowledge(call, body, answer)
        else:
            self.log.counts["calls"] += 1
            self.log.counts[f"{call} {answer.status}"] += 1
        return answer

    async def _try(self, call: str, body: Json) -> httpx.Response | None:
        try:
            response = await self.http.post(f"/{call}", json=body)
        except httpx.TransportError:
            return None
        if response.status_code >= 500:
            self.log.expect(response.status_code == NOT_NOW, f"{call} {body}: {response.text}")
            return None
        return response
