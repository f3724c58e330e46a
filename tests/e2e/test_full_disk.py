"""The disk is full: nothing is acknowledged that is not kept, and with room again all goes on."""

import asyncio
import random
from pathlib import Path

import httpx
import pytest

from service import migrate
from service.postgres import PostgresServer
from tests.support import databases
from tests.support.daemon import Daemon
from tests.support.money import budget
from tests.support.served import Served
from tests.support.session import Session
from tests.support.small_disk import small_place
from tests.support.waits import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KEY = "the-admin-key-of-the-tests-0123456789"
OPTIONS = {
    "max_connections": "40",
    "min_wal_size": "32MB",
    "max_wal_size": "48MB",
    "shared_buffers": "16MB",
    "checkpoint_timeout": "30s",
    "autovacuum": "off",
}
CLIENTS = 16
LABELS = {f"label-{n}": "x" * 60 for n in range(8)}
"""So that the room goes soon."""


@pytest.fixture(params=[True, False], ids=["a small file system", "a limit on files"])
def disk(request, tmp_path):
    """Where it is and how it gets full. Who may not mount anything has the limit twice."""
    with Daemon.scratch() as place, small_place(Path(place), 256, mount=request.param) as found:
        yield Path(place), found


class Payers:
    """Clients that charge one token a call, each under a new id; they don't repeat."""

    def __init__(self, url):
        self.http = httpx.AsyncClient(
            base_url=url, headers={"Authorization": f"Bearer {KEY}"}, timeout=10
        )
        self.told = {}
        self.unanswered = []

    async def charge(self, request_id):
        body = {
            "request_id": request_id,
            "account_id": "ann",
            "amounts": {"tokens": 1},
            "labels": LABELS,
        }
        try:
            response = await self.http.post("/charge", json=body)
        except httpx.TransportError:
            return None
        if response.status_code == 200:
            return response.json()
        assert response.status_code == 503, response.text
        return None

    async def pay(self, name, stopping):
        number = 0
        while not stopping.is_set():
            number += 1
            request_id = f"{name}-{number}-{random.randrange(10**9)}"
            answer = await self.charge(request_id)
            if answer is None:
                self.unanswered.append(request_id)
                await asyncio.sleep(0.05)
            else:
                self.told[request_id] = answer

    async def pay_until(self, condition, what):
        stopping = asyncio.Event()
        working = [asyncio.create_task(self.pay(f"c{n}", stopping)) for n in range(CLIENTS)]
        await until(condition, what, seconds=120)
        stopping.set()
        await asyncio.gather(*working)

    async def all_again(self):
        """What was told is found as it was told; what was not is done by now, or now."""
        for request_id, told in self.told.items():
            assert await self.charge(request_id) == {**told, "replayed": True}
        for request_id in self.unanswered:
            assert await self.charge(request_id)


async def ledger_on(server):
    await asyncio.to_thread(migrate.upgrade, server.dsn)
    session = await Session.open(server.dsn)
    await session.put_account("ann")
    await session.put_budget("ann", "cap", budget(limit=10**9))
    await session.close()


async def test_what_was_acknowledged_is_kept_and_the_rest_is_refused_until_there_is_room(
    disk, tmp_path
):
    place, filled = disk
    settings = {"PREAUTH_ADMIN_KEY": KEY, "PREAUTH_DATABASE_TIMEOUT": "2"}
    with PostgresServer(place / "data", options=OPTIONS) as server:
        await ledger_on(server)
        served = Served(server.dsn, tmp_path, 1, settings, migrate=False)
        try:
            await asyncio.to_thread(served.start)
            payers = Payers(served.url)
            await payers.pay_until(lambda: has(payers.told, 50), "there are payments")
            filled.fill(server)
            refused = len(payers.unanswered)
            await payers.pay_until(lambda: has(payers.unanswered, refused + 30), "it is full")
            filled.free(server)
            await asyncio.to_thread(server.start)
            told = len(payers.told)
            await payers.pay_until(lambda: has(payers.told, told + 50), "it goes on")
            await payers.all_again()
            await payers.http.aclose()
        finally:
            served.end()
        session = await Session.open(server.dsn)
        assert (await session.figures("ann")).settled == len(payers.told) + len(payers.unanswered)
        await session.close()
        assert databases.mismatches(server.dsn) == []


async def has(things, count):
    return len(things) >= count
