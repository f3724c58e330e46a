"""Each call has its own time: who has waited long takes none of it from those who have just come."""

import asyncio
import json
import time
from collections.abc import AsyncIterator

import asyncpg
import pytest

from service.ledger import Ledger, StoreUnavailable
from tests.api.client import settings_for

TIMEOUT = 2.0
SLOW = 1.2
SLACK = 0.4


@pytest.fixture
async def slow(database_url: str) -> AsyncIterator[Ledger]:
    """A ledger with little patience, on a database where every batch of reserves takes a while."""
    connection = await asyncpg.connect(database_url)
    await connection.execute(f"""
        alter function preauth_api.reserve_many(jsonb, text[], text[]) rename to at_once;
        create function preauth_api.reserve_many(items jsonb, actors text[], within text[])
        returns table (n integer, status integer, headers json, body json, root text)
        language plpgsql as $$
        begin
          perform pg_sleep({SLOW});
          return query select * from preauth_api.at_once(items, actors, within);
        end $$""")
    await connection.close()
    ledger = Ledger.of(settings_for(database_url, database_timeout=TIMEOUT))
    await ledger.open()
    await ledger.keys()  # connected: what follows measures nothing but waiting
    yield ledger
    await ledger.close()


async def reserve(ledger: Ledger, request_id: str, *, after: float = 0) -> tuple[object, float]:
    """What came of it, and after how many seconds."""
    await asyncio.sleep(after)
    body = {"request_id": request_id, "account_id": "nobody", "amounts": {"tokens": 1}}
    started = time.monotonic()
    try:
        found: object = (await ledger.call("reserve", json.dumps(body))).status
    except StoreUnavailable as error:
        found = error.cause
    return found, time.monotonic() - started


async def test_a_call_that_has_waited_long_takes_no_time_from_one_that_has_just_come(
    slow: Ledger,
) -> None:
    """The second waits behind the first, then flies with the third: 2.4 s are too long for it."""
    _, old, fresh = await asyncio.gather(
        reserve(slow, "first"),
        reserve(slow, "old", after=0.05),
        reserve(slow, "fresh", after=1.0),
    )
    assert old[0] == "timeout"
    assert TIMEOUT <= old[1] < TIMEOUT + SLACK
    assert fresh[0] == 402
    assert fresh[1] < TIMEOUT
    assert (await reserve(slow, "old"))[0] == 402  # it was decided; asked again, it is told


async def test_who_waits_for_the_lane_only_is_answered_in_time_too(slow: Ledger) -> None:
    """A lane whose batch is not back yet is no reason to keep anybody longer."""
    answers = await asyncio.gather(
        reserve(slow, "first"),
        *(reserve(slow, f"r{n}", after=0.01 + n / 10) for n in range(30)),
    )
    assert max(seconds for _, seconds in answers) < TIMEOUT + SLACK
    assert {found for found, _ in answers} <= {402, "busy", "timeout"}
