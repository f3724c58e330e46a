"""An ASGI application that reads a request's body and sends the same bytes every time.

Run by the server of the service: whatever answers a call behind it costs more than this.
"""

from typing import Any

ANSWER = b"%-420s" % b'{"decision": "authorized"}'
"""As long as an authorization is."""

_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(ANSWER))],
}
_BODY = {"type": "http.response.body", "body": ANSWER}


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Say yes to all."""
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])
    while (await receive()).get("more_body"):
        pass
    await send(_START)
    await send(_BODY)


def create_app() -> Any:
    """It is there already."""
    return app
