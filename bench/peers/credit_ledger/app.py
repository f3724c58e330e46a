"""POST /reserve with Preauth's body; each is one ``decrement``, in a thread as it blocks."""

import hashlib
import os
from typing import Any
from uuid import UUID

from credit_ledger import decrement
from litestar import Litestar, Response, post
from sqlalchemy import create_engine

from service.api.reserve import ReserveBody

URL = os.environ["BENCH_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://", 1)
ENGINE = create_engine(URL, pool_size=10, max_overflow=0)


@post("/reserve", status_code=200, sync_to_thread=True)
def reserve(data: ReserveBody) -> Response[dict[str, Any]]:
    """Spend at once: it knows no holds."""
    digest = hashlib.md5(data.account_id.encode(), usedforsecurity=False).hexdigest()
    charge = decrement(
        str(UUID(digest)),
        data.amounts["usd_nano"],
        idempotency_key=data.request_id,
        engine=ENGINE,
    )
    decision = "authorized" if charge.ok else "denied"
    return Response(
        {
            "request_id": data.request_id,
            "account_id": data.account_id,
            "decision": decision,
            "available": str(charge.balance),
        },
        status_code=200 if charge.ok else 429,
    )


def create_app() -> Litestar:
    """Build it."""
    return Litestar([reserve], openapi_config=None, logging_config=None)
