"""The ledger under test: a first session, further ones, and looks behind the scenes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Self

from tests.support.money import Json, budget
from tests.support.session import Session

__all__ = ["Ledger"]

TABLES = (
    "select relname from pg_class where relnamespace = 'preauth'::regnamespace and relkind = 'r'"
)
MOVEMENTS = ("budget_window", "hold_line", "usage_event")


class Ledger(Session):
    """The session a test begins with. Sessions it opens are closed with it."""

    url: str
    others: list[Session]

    @classmethod
    async def start(cls, url: str) -> Self:
        ledger = await cls.open(url)
        ledger.url, ledger.others = url, []
        return ledger

    async def stop(self) -> None:
        for session in (*self.others, self):
            await session.close()

    async def connect(self) -> Session:
        """A further connection."""
        session = await Session.open(self.url)
        self.others.append(session)
        return session

    async def sessions(self, count: int) -> list[Session]:
        """So many further connections."""
        return list(await asyncio.gather(*(self.connect() for _ in range(count))))

    async def waits(self, session: Session) -> bool:
        """Whether a session is waiting for a lock."""
        blocked = "select 1 from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'"
        return await self.connection.fetchval(blocked, session.pid) is not None

    async def race(
        self, calls: Sequence[Callable[[Session], Awaitable[Json]]], connections: int = 50
    ) -> list[Json]:
        """Run the calls on so many connections at once; replies in the order of the calls."""
        idle: asyncio.LifoQueue[Session] = asyncio.LifoQueue()
        for session in await self.sessions(min(connections, len(calls))):
            idle.put_nowait(session)

        async def run(call: Callable[[Session], Awaitable[Json]]) -> Json:
            session = await idle.get()
            try:
                return await call(session)
            finally:
                idle.put_nowait(session)

        return list(await asyncio.gather(*map(run, calls)))

    async def grant(
        self, account_id: str, limit: int | None = 1000, name: str = "cap", **more: object
    ) -> None:
        """An account with a budget of its own: 1000 tokens for ever unless said otherwise."""
        await self.ensure_account(account_id)
        await self.put_budget(account_id, name, budget(limit=limit, **more))  # type: ignore[arg-type]

    async def ensure_account(self, account_id: str) -> None:
        known = "select 1 from preauth.account where account_id = $1"
        if await self.connection.fetchval(known, account_id) is None:
            await self.put_account(account_id)

    async def expire(self, max_count: int = 100) -> int:
        count: int = await self.call("expire_due", max_count=max_count)
        return count

    async def count(self, table: str, where: str = "true") -> int:
        count: int = await self.connection.fetchval(
            f"select count(*) from preauth.{table} where {where}"
        )
        return count

    async def contents(self, *tables: str) -> dict[str, str]:
        """A digest of each table's rows: equal digests, nothing written."""
        names = tables or [row[0] for row in await self.connection.fetch(TABLES)]
        digest = "select md5(coalesce(string_agg(t::text, E'\\n' order by t::text), '')) from preauth.{} t"
        return {name: await self.connection.fetchval(digest.format(name)) for name in names}

    async def movements(self) -> dict[str, str]:
        """A digest of where the money is: equal digests, no movement."""
        return await self.contents(*MOVEMENTS)
