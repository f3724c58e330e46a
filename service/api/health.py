"""GET /healthz and /readyz: whether the process lives, and whether it can decide."""

from functools import cache

from litestar import Response, get

from service.api.answers.service import Health
from service.api.calls import AnyRequest, ledger_of
from service.api.operation import Operation
from service.api.problems import Problem
from service.migrate import head

HEALTHZ = Operation(summary="Whether the process lives", tag="Operations", answers={200: Health})
READYZ = Operation(
    summary="Whether the database answers and is at the newest migration",
    tag="Operations",
    answers={200: Health},
    problems=("not_ready", "store_unavailable"),
)

_OK = b'{"status":"ok"}'


@get("/healthz", opt={"operation": HEALTHZ}, sync_to_thread=False)
def healthz() -> Response[bytes]:
    """Says nothing about the database: a process is not restarted because that one is down."""
    return Response(_OK, media_type="application/json")


@get("/readyz", opt={"operation": READYZ})
async def readyz(request: AnyRequest) -> Response[bytes]:
    """503 takes the process out of a load balancer until it can decide again."""
    if await ledger_of(request).revision() != _expected():
        raise Problem("not_ready", "The database is not at this release's newest migration.")
    return Response(_OK, media_type="application/json")


@cache
def _expected() -> str | None:
    return head()
