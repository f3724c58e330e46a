"""The service under test, in this process or behind a real socket, and how to speak to it."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import uvicorn
from litestar import Litestar

from service.api.front import Service
from service.app import create_app
from service.direct import DirectProtocol, send_answer
from service.settings import Settings
from tests.support.money import Json
from tests.support.waits import until

__all__ = [
    "ADMIN_KEY",
    "Api",
    "bearer",
    "in_process",
    "living",
    "offered_to",
    "over_sockets",
    "settings_for",
]

ADMIN_KEY = "admin-key-of-the-tests-0123456789"


def settings_for(database_url: str, **chosen: Any) -> Settings:
    """Settings that read no environment but what a test chooses."""
    return Settings(
        **{
            "database_url": database_url,
            "admin_key": ADMIN_KEY,
            "log_level": "error",
            "expiry_interval_seconds": 3600,
            **chosen,
        }
    )


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


class Api:
    """A client with the admin key; ``as_`` gives one with another."""

    def __init__(self, http: httpx.AsyncClient, app: Litestar) -> None:
        self.http = http
        self.app = app

    async def send(
        self, method: str, path: str, body: Any = None, key: str | None = ADMIN_KEY, **more: Any
    ) -> httpx.Response:
        """One request; ``body`` is JSON, or the bytes of something that may not be."""
        headers = {**(bearer(key) if key else {}), **more.pop("headers", {})}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            more["content"] = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.http.request(method, path, headers=headers, **more)

    async def post(self, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return await self.send("POST", path, body, **more)

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.send("GET", path, **more)

    async def put(self, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return await self.send("PUT", path, body, **more)

    async def delete(self, path: str, **more: Any) -> httpx.Response:
        return await self.send("DELETE", path, **more)

    async def ok(self, method: str, path: str, body: Any = None, **more: Any) -> Json:
        """The body of a request that must succeed."""
        response = await self.send(method, path, body, **more)
        assert response.status_code in {200, 201}, (response.status_code, response.text)
        found: Json = response.json()
        return found

    async def key(self, role: str, account_id: str | None = None) -> str:
        """The secret of a new key."""
        made = await self.ok(
            "POST", "/keys", {"name": "test", "role": role, "account_id": account_id}
        )
        secret: str = made["secret"]
        return secret

    async def grant(self, account_id: str, limit: int | None = 1000, **more: Any) -> None:
        """An account with a budget of its own: 1000 tokens for ever unless said otherwise."""
        await self.ok("PUT", f"/accounts/{account_id}", {})
        body = {"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": limit, **more}
        await self.ok("PUT", f"/accounts/{account_id}/budgets/cap", body)

    async def reserve(
        self, request_id: str, account_id: str, tokens: int, **more: Any
    ) -> httpx.Response:
        """A reservation of tokens."""
        options = {name: more.pop(name) for name in ("key", "headers", "params") if name in more}
        body = {"request_id": request_id, "account_id": account_id, "amounts": {"tokens": tokens}}
        return await self.post("/reserve", {**body, **more}, **options)


@contextlib.asynccontextmanager
async def living(app: Litestar) -> AsyncIterator[None]:
    """The application's lifespan, entered and left by one task as its task groups want it."""
    started, over = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.lifespan():
            started.set()
            await over.wait()

    task = asyncio.create_task(live())
    waiting = asyncio.create_task(started.wait())
    await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    try:
        yield
    finally:
        over.set()
        await task


def offered_to(app: Service) -> Any:
    """The application as its server calls it: it may take a whole request, and has the others."""

    async def asgi(scope: Any, receive: Any, send: Any) -> None:
        answer = asyncio.get_running_loop().create_future()
        body = await _whole(receive)
        if app.take(scope, body, answer.set_result):
            await send_answer(send, await answer)
        else:
            await app(scope, _again(body, receive), send)

    return asgi


async def _whole(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body")
    return body


def _again(body: bytes, receive: Any) -> Any:
    """Receives what was received."""
    first = [{"type": "http.request", "body": body}]

    async def received() -> Any:
        return first.pop() if first else await receive()

    return received


@contextlib.asynccontextmanager
async def in_process(settings: Settings) -> AsyncIterator[Api]:
    """The application called as a function."""
    app = create_app(settings)
    transport = httpx.ASGITransport(app=offered_to(app), raise_app_exceptions=False)
    async with (
        living(app),
        httpx.AsyncClient(transport=transport, base_url="http://preauth") as http,
    ):
        yield Api(http, app)


async def _started(server: uvicorn.Server) -> bool:
    return server.started


class _Server(uvicorn.Server):
    """Leaves the signals of the test's process alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def over_sockets(settings: Settings) -> AsyncIterator[tuple[Api, uvicorn.Server]]:
    """The application behind uvicorn on a free port of the loopback."""
    app = create_app(settings)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_graceful_shutdown=10,
            http=DirectProtocol,
        )  # type: ignore[arg-type]
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        await until(lambda: _started(server), "the server listens")
        try:
            async with httpx.AsyncClient(base_url=base, timeout=30) as http:
                yield Api(http, app), server
        finally:
            server.should_exit = True
            await task
