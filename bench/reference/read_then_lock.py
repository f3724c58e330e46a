"""What a team writes first: read the row and lock it, look, write, commit."""

from typing import Any

from litestar import Litestar, Response, post
from litestar.datastructures import State

from bench.reference.pool import pool
from service.api.reserve import ReserveBody

READ = "select limit_amount - reserved from bench.balance where account_id = $1 for update"
WRITE = "update bench.balance set reserved = reserved + $2 where account_id = $1"
RECORD = "insert into bench.hold (request_id, account_id, amount) values ($1, $2, $3)"


@post("/reserve", status_code=200)
async def reserve(data: ReserveBody, state: State) -> Response[dict[str, Any]]:
    """Hold an amount on the account's one budget."""
    amount = data.amounts["usd_nano"]
    async with state.pool.acquire() as connection, connection.transaction():
        available = await connection.fetchval(READ, data.account_id)
        if available is None or available < amount:
            return Response({"decision": "denied"}, status_code=429)
        await connection.execute(WRITE, data.account_id, amount)
        await connection.execute(RECORD, data.request_id, data.account_id, amount)
    return Response(
        {
            "request_id": data.request_id,
            "account_id": data.account_id,
            "decision": "authorized",
            "available": available - amount,
        }
    )


def create_app() -> Litestar:
    """Build it."""
    return Litestar([reserve], lifespan=[pool], openapi_config=None, logging_config=None)
