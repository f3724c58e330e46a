"""The routes of the section-2 calls: plain ASGI, because programs make them with every model call.

What the framework does for other routes (dependency injection, signatures, response classes) costs
more here than the decision does. Routing, guards, exception handlers and the document are shared.
"""

from typing import Any

from litestar import asgi
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler

from service.api import batches
from service.api.bodies import read_body
from service.api.calls import make_one
from service.api.operation import Operation
from service.api.query import parameters
from service.api.send import send_outcome
from service.ledger import Call

__all__ = ["call_route"]

_ALLOWED = "OPTIONS, POST"


def call_route(call: Call, operation: Operation, description: str) -> ASGIRouteHandler:
    """The route ``POST /<call>``."""

    async def handle(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "POST":
            await _other_method(scope, send)
            return
        parameters(scope, operation)
        body = await read_body(scope, receive)
        if batches.is_batch(operation, body):
            outcome = await batches.make_many(scope, call, operation, body)
        else:
            outcome = await make_one(scope, call, operation, body)
        await send_outcome(scope, send, outcome)

    handle.__name__ = handle.__qualname__ = call
    handle.__doc__ = description
    return asgi(f"/{call}", opt={"operation": operation}, copy_scope=False)(handle)


async def _other_method(scope: Any, send: Any) -> None:
    if scope["method"] != "OPTIONS":
        raise MethodNotAllowedException(headers={"allow": _ALLOWED})
    await send(
        {
            "type": "http.response.start",
            "status": 204,
            "headers": [(b"allow", _ALLOWED.encode())],
        }
    )
    await send({"type": "http.response.body", "body": b""})
