"""A seat keeps its connection from one statement to the next, and from nobody who waits for one."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from service.ledger import StoreUnavailable
from service.ledger.connections import Connections
from service.ledger.errors import LedgerFault
from service.ledger.seat import Seat

PID = "select pg_backend_pid()"
SECONDS = 5.0


@pytest.fixture
async def two(database_url: str) -> AsyncIterator[Connections]:
    connections = Connections(database_url, size=2, timeout=SECONDS)
    await connections.open()
    yield connections
    await connections.close()


@pytest.fixture
async def one(database_url: str) -> AsyncIterator[Connections]:
    connections = Connections(database_url, size=1, timeout=SECONDS)
    await connections.open()
    yield connections
    await connections.close()


async def asked(connections: Connections, seat: Seat, sql: str = PID) -> int:
    rows = await seat.fetch(sql, (), resend=True, deadline=connections.deadline())
    return int(rows[0][0])


async def test_statements_that_follow_each_other_use_one_connection(two: Connections) -> None:
    seat = two.seat()
    first = await asked(two, seat)
    (other,) = await two.fetch(PID, resend=True)
    assert other[0] != first
    assert await asked(two, seat) == first
    await seat.leave()


async def test_a_seat_that_was_left_is_open_to_others(one: Connections) -> None:
    seat = one.seat()
    first = await asked(one, seat)
    await seat.leave()
    (other,) = await one.fetch(PID, resend=True)
    assert other[0] == first


async def test_who_waits_for_a_connection_gets_it_between_two_statements(one: Connections) -> None:
    seat = one.seat()
    busy = asyncio.create_task(asked(one, seat, "select 1 from pg_sleep(0.2)"))
    await asyncio.sleep(0.05)
    other = asyncio.create_task(one.fetch(PID, resend=True))
    await busy
    statements = asyncio.create_task(_many(one, seat))
    await asyncio.wait_for(other, 1)
    statements.cancel()


async def _many(connections: Connections, seat: Seat) -> None:
    while True:
        await asked(connections, seat)


async def test_a_connection_that_was_lost_in_between_is_replaced(
    two: Connections, database_url: str
) -> None:
    seat = two.seat()
    first = await asked(two, seat)
    other = await asyncpg.connect(database_url)
    await other.execute("select pg_terminate_backend($1)", first)
    await other.close()
    await asyncio.sleep(0.1)
    assert await asked(two, seat) != first
    await seat.leave()


async def test_after_an_error_the_connection_is_in_order_again(one: Connections) -> None:
    seat = one.seat()
    first = await asked(one, seat)
    with pytest.raises(LedgerFault):
        await asked(one, seat, "select 1 / 0")
    (other,) = await one.fetch(PID, resend=True)
    assert other[0] == first


async def test_a_statement_that_takes_too_long_gives_its_connection_up(one: Connections) -> None:
    seat = one.seat()
    first = await asked(one, seat)
    soon = asyncio.get_running_loop().time() + 0.2
    with pytest.raises(StoreUnavailable):
        await seat.fetch("select pg_sleep(3)", (), resend=True, deadline=soon)
    (other,) = await one.fetch(PID, resend=True)
    assert other[0] != first


async def test_a_caller_that_is_cancelled_gives_its_connection_up(one: Connections) -> None:
    seat = one.seat()
    first = await asked(one, seat)
    task = asyncio.create_task(asked(one, seat, "select 1 from pg_sleep(3)"))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (other,) = await one.fetch(PID, resend=True)
    assert other[0] != first
