"""The races of the core and the death of a worker, over HTTP, with one worker and with four."""

import asyncio
import random
from collections import Counter

import httpx
import psycopg
import pytest

pytestmark = pytest.mark.e2e

KEY = "the-admin-key-of-the-tests-0123456789"


@pytest.fixture(params=[1, 4], ids=["one-worker", "four-workers"])
def served(request, serve):
    return serve(request.param, PREAUTH_ADMIN_KEY=KEY)


class Caller:
    """Sends calls, each again under the same id until it is answered."""

    def __init__(self, url):
        self.http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {KEY}"},
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=0),
            timeout=30,
        )

    async def put(self, path, body):
        response = await self.http.put(path, json=body)
        assert response.status_code == 200, response.text

    async def post(self, path, body):
        while True:
            try:
                response = await self.http.post(path, json=body)
            except httpx.TransportError:
                await asyncio.sleep(0.02)
                continue
            if response.status_code != 503:
                return response

    async def reserve(self, request_id, account_id, tokens):
        body = {"request_id": request_id, "account_id": account_id, "amounts": {"tokens": tokens}}
        return await self.post("/reserve", body)

    async def settle(self, request_id, account_id, tokens):
        body = {"request_id": request_id, "account_id": account_id, "amounts": {"tokens": tokens}}
        return await self.post("/settle", body)

    async def tree(self, limit):
        budget = {"name": "cap", "unit": "tokens", "window": {"kind": "lifetime"}}
        await self.put("/plans/capped", {"budgets": [{**budget, "limit_amount": limit}]})
        await self.put("/accounts/org", {"plan_id": "capped"})
        await self.put("/plans/wide", {"budgets": [{**budget, "limit_amount": 10**9}]})
        for n in range(4):
            await self.put(f"/accounts/team{n}", {"plan_id": "wide", "parent_id": "org"})


def verify(served):
    with psycopg.connect(served.database_url) as connection:
        assert connection.execute("select * from preauth_api.verify()").fetchall() == []
        [deadlocks] = connection.execute(
            "select deadlocks from pg_stat_database where datname = current_database()"
        ).fetchone()
        assert deadlocks == 0


async def window(caller):
    balance = (await caller.http.get("/accounts/org/balance")).json()
    return {name: balance["windows"][0][name] for name in ("settled", "reserved", "available")}


async def test_of_fifty_parallel_calls_as_many_are_authorized_as_fit(served):
    caller = Caller(served.url)
    await caller.tree(1000)
    answers = await asyncio.gather(*(caller.reserve(f"r{n}", "org", 400) for n in range(50)))
    assert Counter(a.status_code for a in answers) == {200: 2, 402: 48}
    for n, answer in enumerate(answers):
        if answer.status_code == 200:
            assert (await caller.settle(f"r{n}", "org", 400)).status_code == 200
    assert await window(caller) == {"settled": 800, "reserved": 0, "available": 200}
    verify(served)


async def test_fifty_parallel_calls_with_one_id_hold_once(served):
    caller = Caller(served.url)
    await caller.tree(1000)
    answers = await asyncio.gather(*(caller.reserve("same", "team0", 400) for _ in range(50)))
    assert {a.status_code for a in answers} == {200}
    assert Counter(a.json()["replayed"] for a in answers) == {False: 1, True: 49}
    assert await window(caller) == {"settled": 0, "reserved": 400, "available": 600}
    verify(served)


async def test_two_hundred_parallel_calls_on_shared_windows_do_not_deadlock_and_none_is_lost(
    served,
):
    caller = Caller(served.url)
    await caller.tree(200 * 10)
    teams = [f"team{random.randrange(4)}" for _ in range(200)]
    answers = await asyncio.gather(
        *(caller.reserve(f"r{n}", team, 10) for n, team in enumerate(teams))
    )
    assert {a.status_code for a in answers} == {200}
    assert await window(caller) == {"settled": 0, "reserved": 2000, "available": 0}
    verify(served)


async def test_workers_killed_under_load_lose_nothing_and_double_nothing(served):
    caller = Caller(served.url)
    await caller.tree(10**9)

    async def pair(n):
        team = f"team{n % 4}"
        assert (await caller.reserve(f"r{n}", team, 10)).status_code == 200
        assert (await caller.settle(f"r{n}", team, 7)).status_code == 200

    async def kill():
        for _ in range(3):
            await asyncio.sleep(0.3)
            await asyncio.to_thread(served.kill_a_worker)

    await asyncio.gather(kill(), *(pair(n) for n in range(400)))
    assert await window(caller) == {"settled": 2800, "reserved": 0, "available": 10**9 - 2800}
    verify(served)
