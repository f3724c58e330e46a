"""A call that its server offers first is answered as one that comes the usual way."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from service.api import call_route, calls
from service.app import create_app
from tests.api.client import ADMIN_KEY, Api, bearer, living, offered_to, settings_for
from tests.support.ledger import Ledger

GOOD = {"request_id": "r", "account_id": "a", "amounts": {"tokens": 7}}
TRY = {**GOOD, "dry_run": True}
PLAIN = {**bearer(ADMIN_KEY), "Content-Type": "application/json"}
PROVIDER = {"api": "openai_chat", "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
WAYS = ("offered", "usual")


class Both:
    """One application, called both ways."""

    def __init__(self, app: Any) -> None:
        self.taken = 0
        self.app = app
        take = app.take

        def counted(*arguments: Any) -> bool:
            took: bool = take(*arguments)
            self.taken += took
            return took

        app.take = counted
        self.clients = {
            "offered": self._client(offered_to(app)),
            "usual": self._client(app),
        }

    @staticmethod
    def _client(app: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://preauth")

    async def told(self, way: str, path: str, headers: Any, body: bytes) -> tuple[Any, ...]:
        """What is the same whenever it is asked: not the instants, nor the id of a request."""
        got = await self.clients[way].post(path, headers=headers, content=body)
        said = json.loads(got.content)
        changing = {"expires_at", "request_id", "instance"}
        fields = dict(got.headers.raw)
        assert fields.pop(b"x-request-id")
        assert all(name.islower() for name in fields)
        fields.pop(b"ratelimit", None)
        if isinstance(said, dict):
            return got.status_code, fields, {n: v for n, v in said.items() if n not in changing}
        return got.status_code, fields, [entry["status"] for entry in said]

    async def denials(self) -> float:
        """How many the metrics have counted, of requests above their limit."""
        got = await self.clients["usual"].get("/metrics", headers=PLAIN)
        wanted = 'preauth_decisions_total{call="reserve",outcome="denied",reason="exceeds_limit"}'
        return sum(float(line.split()[-1]) for line in got.text.splitlines() if wanted in line)


@pytest.fixture
async def both(database_url: str, ledger: Ledger) -> AsyncIterator[Both]:
    await ledger.grant("a", 100)
    app = create_app(settings_for(database_url))
    async with living(app):
        yield Both(app)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/reserve", TRY),
        ("/reserve", {**TRY, "amounts": {"tokens": 101}}),
        ("/reserve", {**TRY, "account_id": "nobody"}),
        ("/reserve?", TRY),
        ("/settle", {"request_id": "nothing", "amounts": {"tokens": 1}}),
        ("/release", {"request_id": "nothing", "reason": "refused"}),
        ("/extend", {"request_id": "nothing", "ttl_seconds": 5}),
        ("/cancel", {"request_id": "c", "account_id": "a"}),
        ("/charge", {**GOOD, "request_id": "x", "amounts": {"tokens": 0}}),
        ("/reserve", {**TRY, "model": "no-such", "max_usage": {"prompt_tokens": 1}}),
    ],
)  # fmt: skip
async def test_what_is_plainly_good_is_taken_and_answered_alike(
    both: Both, path: str, body: Any
) -> None:
    text = json.dumps(body).encode()
    for way in WAYS:  # what is decided only once is decided now
        await both.told(way, path, PLAIN, text)
    before = both.taken
    offered, usual = [await both.told(way, path, PLAIN, text) for way in WAYS]
    assert offered == usual
    assert both.taken == before + 1


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        ("/reserve", {}, TRY),
        ("/reserve", {**PLAIN, "Authorization": "Basic abc"}, TRY),
        ("/reserve", {**PLAIN, "Authorization": "Bearer unknown"}, TRY),
        ("/reserve", [*PLAIN.items(), ("Authorization", f"Bearer {ADMIN_KEY}")], TRY),
        ("/reserve", bearer(ADMIN_KEY), TRY),
        ("/reserve", {**PLAIN, "Content-Type": "text/plain"}, TRY),
        ("/reserve", {**PLAIN, "Idempotency-Key": "other"}, TRY),
        ("/reserve?error_format=openai", PLAIN, {**TRY, "account_id": "nobody"}),
        ("/reserve?error_format=odd", PLAIN, TRY),
        ("/reserve?verbose=1", PLAIN, TRY),
        ("/reserve", PLAIN, {**TRY, "amounts": {"tokens": -1}}),
        ("/reserve", PLAIN, {**TRY, "odd": 1}),
        ("/reserve", PLAIN, {**TRY, "labels": {"a": "x" * 70_000}}),
        ("/reserve", PLAIN, [TRY, {**TRY, "odd": 1}]),
        ("/settle", PLAIN, {"request_id": "nothing", "provider_usage": PROVIDER}),
        ("/no-such-call", PLAIN, TRY),
        ("/balance", PLAIN, TRY),
    ],
)
async def test_what_is_not_plainly_good_is_left_and_answered_alike(
    both: Both, path: str, headers: Any, body: Any
) -> None:
    text = json.dumps(body).encode()
    offered, usual = [await both.told(way, path, headers, text) for way in WAYS]
    assert offered == usual
    assert both.taken == 0


async def test_a_key_that_was_not_seen_yet_is_looked_up_the_usual_way(both: Both) -> None:
    key = await Api(both.clients["usual"], both.app).key("spend")
    text, headers = json.dumps(TRY).encode(), {**PLAIN, **bearer(key)}
    for taken in (0, 1):
        status, _, _ = await both.told("offered", "/reserve", headers, text)
        assert (status, both.taken) == (200, taken)


async def test_a_fault_in_a_check_is_a_500_both_ways(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(call_route, "check_idempotency_key", fails)
    monkeypatch.setattr(calls, "check_idempotency_key", fails)
    text = json.dumps(TRY).encode()
    offered, usual = [await both.told(way, "/reserve", PLAIN, text) for way in WAYS]
    assert offered == usual
    assert (offered[0], both.taken) == (500, 0)


async def test_a_fault_in_an_answer_is_a_500_and_no_neighbours(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = both.app.calls["/reserve"]
    send = call.as_sent

    def fails_for_denials(scope: Any, outcome: Any) -> Any:
        if b"denied" in outcome.body:
            raise RuntimeError("a fault")
        return send(scope, outcome)

    monkeypatch.setattr(call, "as_sent", fails_for_denials)
    bad = json.dumps({**TRY, "amounts": {"tokens": 101}}).encode()
    assert (await both.told("offered", "/reserve", PLAIN, bad))[0] == 500
    good = json.dumps(TRY).encode()
    assert (await both.told("offered", "/reserve", PLAIN, good))[0] == 200
    assert both.taken == 2


async def test_a_fault_for_which_there_is_no_answer_is_no_neighbours_either(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = both.app.calls["/reserve"]
    send = call.as_sent

    def fails_for_problems(scope: Any, outcome: Any) -> Any:
        if outcome.is_problem:
            raise RuntimeError("a fault")
        return send(scope, outcome)

    monkeypatch.setattr(call, "as_sent", fails_for_problems)
    bad, good = ({**TRY, "amounts": {"tokens": tokens}} for tokens in (101, 7))
    got = await asyncio.wait_for(
        asyncio.gather(
            *(
                both.clients["offered"].post("/reserve", headers=PLAIN, content=json.dumps(body))
                for body in (good, bad, good, good, good)
            )
        ),
        5,
    )
    assert [answer.status_code for answer in got] == [200, 500, 200, 200, 200]
    assert both.taken == 5


async def test_calls_are_counted_alike(both: Both) -> None:
    text = json.dumps({**TRY, "amounts": {"tokens": 101}}).encode()
    counted = [await both.denials()]
    for way in WAYS:
        await both.told(way, "/reserve", PLAIN, text)
        counted.append(await both.denials())
    assert counted == [counted[0] + n for n in range(3)]
