"""The ledger without its service: one asyncpg call of preauth_api.reserve for each request."""

import json

from litestar import Litestar, Response, post
from litestar.datastructures import State

from bench.reference.pool import pool
from service.api.reserve import ReserveBody

CALL = (
    "select preauth_api.reserve(request_id => $1, account_id => $2, amounts => $3::text::jsonb,"
    " ttl_seconds => $4)::text"
)


@post("/reserve", status_code=200)
async def reserve(data: ReserveBody, state: State) -> Response[bytes]:
    """Ask the database."""
    answer = await state.pool.fetchval(
        CALL, data.request_id, data.account_id, json.dumps(data.amounts), data.ttl_seconds
    )
    status = 200 if '"authorized"' in answer else 429
    return Response(answer.encode(), status_code=status, media_type="application/json")


def create_app() -> Litestar:
    """Build it."""
    return Litestar([reserve], lifespan=[pool], openapi_config=None, logging_config=None)
