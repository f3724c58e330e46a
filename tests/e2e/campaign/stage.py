"""What the campaign is played on: PostgreSQL, the service, and a proxy on every way between."""

import asyncio
import os
import random
import re
from dataclasses import dataclass
from pathlib import Path

import psycopg

from service import migrate
from service.postgres import PostgresServer
from tests.e2e.campaign.proxy import Proxy, Weather
from tests.support.served import Served

__all__ = ["DATABASE_TIMEOUT", "KEY", "MAX_CONNECTIONS", "Stage"]

KEY = "the-admin-key-of-the-tests-0123456789"
PASSWORD = "spender"
DATABASE_TIMEOUT = 2.0
MAX_CONNECTIONS = 60
RARE = Weather(
    lose_request=0.0007, lose_reply=0.0007, shorten_reply=0.0007, delay=0.005, delay_seconds=0.1
)
"""What always happens now and then, besides the faults that are made."""

OPTIONS = {
    "max_connections": str(MAX_CONNECTIONS),
    "shared_buffers": "128MB",
    "checkpoint_timeout": "60s",
    "deadlock_timeout": "200ms",
    "max_wal_size": "256MB",
}


@dataclass
class Stage:
    """Everything under ``directory``. PostgreSQL writes durably, as in production."""

    directory: Path
    workers: int
    random: random.Random

    def __post_init__(self) -> None:
        self.postgres = PostgresServer(
            self.directory / "data", os.environ.get("PREAUTH_TEST_PG_BIN") or None, options=OPTIONS
        )
        self.front = Proxy("client - service", lambda: self.served.port, self.random)
        self.back = Proxy("service - PostgreSQL", lambda: self.postgres.port, self.random)
        self.side = Proxy("client - PostgreSQL", lambda: self.postgres.port, self.random)
        self.served: Served | None = None

    @property
    def proxies(self) -> list[Proxy]:
        return [self.front, self.back, self.side]

    async def open(self) -> None:
        await asyncio.to_thread(self._prepare)
        for proxy in self.proxies:
            await proxy.open()
        settings = {
            "PREAUTH_ADMIN_KEY": KEY,
            "PREAUTH_DATABASE_TIMEOUT": str(DATABASE_TIMEOUT),
            "PREAUTH_POOL_SIZE": "4",
            "PREAUTH_LANES": "2",
            "PREAUTH_SHUTDOWN_SECONDS": "3",
        }
        self.served = Served(
            self.url(self.back.port), self.directory, self.workers, settings, migrate=False
        )
        await asyncio.to_thread(self.served.start)

    def _prepare(self) -> None:
        self.postgres.start(end_with_thread=False)
        migrate.upgrade(self.postgres.dsn)
        with psycopg.connect(self.postgres.dsn) as admin:
            admin.execute(
                f"create role spender login password '{PASSWORD}' in role preauth_service"
            )
            admin.execute(f"alter role spender set statement_timeout = '{DATABASE_TIMEOUT * 2}s'")

    def url(self, port: int) -> str:
        """As the service and the clients connect: no superuser, by TCP."""
        return f"postgresql://spender:{PASSWORD}@127.0.0.1:{port}/{self.postgres.database}"

    def foul(self) -> None:
        for proxy in self.proxies:
            proxy.weather = RARE

    def clear(self) -> None:
        for proxy in self.proxies:
            proxy.weather = Weather()

    def deadlocks(self) -> int:
        """How many PostgreSQL has broken up: its own count does not outlive a crash, its log does."""
        logs = self.postgres.home.root.glob("postgres.log*")
        return sum(log.read_text(errors="replace").count("deadlock detected") for log in logs)

    async def raise_postgres(self) -> None:
        """Start it again: recovery is part of it."""
        await asyncio.to_thread(self.postgres.start, end_with_thread=False)

    def backends(self) -> list[int]:
        """The processes of PostgreSQL that serve the spender."""
        pid = self.postgres.pid
        if pid is None:
            return []
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in children if _serves_the_spender(child)]

    async def close(self) -> None:
        if self.served is not None:
            await asyncio.to_thread(self.served.end)
        for proxy in self.proxies:
            await proxy.close()
        await asyncio.to_thread(self.postgres.stop)


def _serves_the_spender(pid: str) -> bool:
    try:
        title = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
    return re.match(r"postgres: spender ", title) is not None
