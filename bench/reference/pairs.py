"""Reserve and settle by SELECT ... FOR UPDATE, then UPDATE: each its own transaction."""

from typing import Any

__all__ = ["reserve", "settle"]

READ = "select limit_amount - reserved from bench.balance where account_id = $1 for update"
WRITE = "update bench.balance set reserved = reserved + $2 where account_id = $1"
RECORD = "insert into bench.hold (request_id, account_id, amount) values ($1, $2, $3)"
READ_HOLD = "select state from bench.hold where request_id = $1 and account_id = $2 for update"
CLOSE = "update bench.hold set state = 'settled' where request_id = $1 and account_id = $2"


async def reserve(pool: Any, request_id: str, account_id: str, amount: int) -> None:
    async with pool.acquire() as connection, connection.transaction():
        if await connection.fetchval(READ, account_id) < amount:
            raise RuntimeError("denied")
        await connection.execute(WRITE, account_id, amount)
        await connection.execute(RECORD, request_id, account_id, amount)


async def settle(pool: Any, request_id: str, account_id: str, difference: int) -> None:
    async with pool.acquire() as connection, connection.transaction():
        await connection.fetchval(READ, account_id)
        if await connection.fetchval(READ_HOLD, request_id, account_id) != "held":
            raise RuntimeError("settled before")
        await connection.execute(WRITE, account_id, difference)
        await connection.execute(CLOSE, request_id, account_id)
