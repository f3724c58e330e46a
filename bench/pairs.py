"""Reserve and settle without HTTP: the service's coalescer against SELECT-then-UPDATE."""

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import asyncpg
import uvloop

from bench.harness import callers
from bench.harness.callers import Step
from bench.harness.conditions import conditions
from bench.harness.database import Database, database
from bench.harness.measure import Contender, Results, Sample, interleave
from bench.harness.options import Options, parse
from bench.harness.report import Ratio, heading, measurements, ratios
from bench.harness.seed import AMOUNT, AMOUNTS, seed
from bench.reference import FLOOR, ROWS, pairs
from service.ledger import Ledger
from service.ledger.coalescer import Coalescer, Passenger
from service.ledger.outcome import Outcome
from service.settings import Settings

CALLERS = 64
PATIENCE_SECONDS = 60.0
ACTUAL = AMOUNT // 2
BATCH = "select status, headers, body, root from preauth_api.reserve_many($1, $2, $3)"
ONE = (
    "select preauth_api.reserve(request_id => $1, account_id => 'hot',"
    " amounts => $2::text::jsonb)::text"
)

US, THEM = "Preauth's coalescer, 64 callers", "SELECT-then-UPDATE, 64 callers"
ROWS_ALONE = "a pair's rows alone, by the same coalescer, 64 callers"
OURS, PLAIN, SINGLE = "one caller: Ledger.call", "one caller: reserve_many", "one caller: reserve"
RATIOS = [
    Ratio("pairs ÷ SELECT-then-UPDATE", US, THEM, 25, 35),
    Ratio("a pair's rows alone ÷ SELECT-then-UPDATE", ROWS_ALONE, THEM),
    Ratio("one caller: p50 ÷ a plain asyncpg call of reserve_many", OURS, PLAIN, 1.2, 1.05,
          "p50_ms", at_most=True),
    Ratio("one caller: p50 ÷ a plain asyncpg call of reserve", OURS, SINGLE,
          field="p50_ms", at_most=True),
]  # fmt: skip


def item(request_id: str, amount: int) -> str:
    return json.dumps(
        {"request_id": request_id, "account_id": "hot", "amounts": {"usd_nano": amount}}
    )


async def reserve(ledger: Ledger, request_id: str) -> None:
    outcome = await ledger.call("reserve", item(request_id, AMOUNT), "bench", account_id="hot")
    if outcome.is_problem:
        raise RuntimeError(outcome.body)


async def pair(ledger: Ledger, request_id: str) -> None:
    await reserve(ledger, request_id)
    outcome = await ledger.call("settle", item(request_id, ACTUAL), "bench", account_id="hot")
    if outcome.is_problem:
        raise RuntimeError(outcome.body)


async def locking_pair(pool: Any, request_id: str) -> None:
    await pairs.reserve(pool, request_id, "hot", AMOUNT)
    await pairs.settle(pool, request_id, "hot", ACTUAL - AMOUNT)


class RowsAlone:
    """The service's coalescer in front of functions that decide nothing."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._coalescer = Coalescer([self])

    async def pair(self, request_id: str) -> None:
        for function in ("rows_many", "settled_rows_many"):
            loop = asyncio.get_running_loop()
            answer, deadline = loop.create_future(), loop.time() + PATIENCE_SECONDS
            passenger = Passenger(function, request_id, None, None, None, deadline, answer)
            self._coalescer.send([passenger], None)
            await answer

    async def fly(
        self, function: str, batch: Sequence[Passenger], _deadline: float
    ) -> Sequence[Any]:
        amount = AMOUNT if function == "rows_many" else ACTUAL
        ids = [passenger.item for passenger in batch]
        rows: Sequence[Any] = await self._pool.fetch(
            f"select bench.{function}($1, 'hot', $2)", ids, amount
        )
        return rows

    def read(self, batch: Sequence[Passenger], _brought: Sequence[Any]) -> list[Outcome]:
        return [Outcome(200, {}, b"")] * len(batch)

    async def rest(self) -> None:
        """The pool has the connection already."""


async def plain_batch(connection: Any, request_id: str) -> None:
    await connection.fetch(BATCH, f"[{item(request_id, AMOUNT)}]", ["bench"], [None])


async def plain(connection: Any, request_id: str) -> None:
    await connection.fetchval(ONE, request_id, AMOUNTS)


async def with_ledger(dsn: str, step: Any, count: int, seconds: int) -> Sample:
    ledger = Ledger.of(Settings(database_url=dsn))
    await ledger.open()
    try:
        return await run(partial(step, ledger), count, seconds)
    finally:
        await ledger.close()


async def with_pool(dsn: str, step: Any, count: int, seconds: int) -> Sample:
    async with asyncpg.create_pool(dsn) as pool:
        return await run(partial(step, pool), count, seconds)


async def with_rows(dsn: str, _step: Any, count: int, seconds: int) -> Sample:
    async with asyncpg.create_pool(dsn) as pool:
        return await run(RowsAlone(pool).pair, count, seconds)


async def with_connection(dsn: str, step: Any, count: int, seconds: int) -> Sample:
    connection = await asyncpg.connect(dsn)
    try:
        return await run(partial(step, connection), count, seconds)
    finally:
        await connection.close()


async def run(step: Step, count: int, seconds: int) -> Sample:
    """After a moment in which connections are made and plans are cached."""
    await callers.run(step, count, 0.3)
    return await callers.run(step, count, seconds)


def contenders(made: Database) -> list[Contender]:
    def contender(name: str, way: Any, step: Any, count: int) -> Contender:
        return Contender(name, lambda seconds: uvloop.run(way(made.dsn, step, count, seconds)))

    return [
        contender(US, with_ledger, pair, CALLERS),
        contender(THEM, with_pool, locking_pair, CALLERS),
        contender(ROWS_ALONE, with_rows, None, CALLERS),
        contender(OURS, with_ledger, reserve, 1),
        contender(PLAIN, with_connection, plain_batch, 1),
        contender(SINGLE, with_connection, plain, 1),
    ]


def measure(options: Options) -> tuple[Results, str]:
    with database() as made:
        made.execute(FLOOR.read_text())
        seed(made, accounts=1)
        made.execute(ROWS.read_text())
        told = conditions(made, options, "asyncpg on uvloop, pools of ten, one hot account")
        results = interleave(contenders(made), options, warm_up=0)
        return results, f"{told} {made.mismatches()}."


def main() -> None:
    options, _ = parse(__doc__)
    results, told = measure(options)
    heading("Reserve and settle, without HTTP", told)
    measurements(results, "pairs (or calls) a second")
    ratios(results, RATIOS)


if __name__ == "__main__":
    main()
