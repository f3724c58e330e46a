"""A connection that speaks the contract: named arguments in, JSON out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import asyncpg

from tests.support.money import Json

__all__ = ["Row", "Session"]


@dataclass(frozen=True)
class Row:
    """One line of a batch's answer."""

    n: int
    status: int
    headers: Json
    body: Json


class Session:
    """One database connection with the ledger's functions as methods."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self.connection = connection

    @classmethod
    async def open(cls, url: str) -> Self:
        connection = await asyncpg.connect(url)
        for kind in ("json", "jsonb"):
            await connection.set_type_codec(
                kind, encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
            )
        return cls(connection)

    async def close(self) -> None:
        if not self.connection.is_closed():
            await self.connection.close()

    @property
    def pid(self) -> int:
        return self.connection.get_server_pid()

    async def call(self, function: str, **arguments: object) -> Any:
        """The single function of that name, with named arguments."""
        names = ", ".join(f"{name} => ${i}" for i, name in enumerate(arguments, 1))
        return await self.connection.fetchval(
            f"select preauth_api.{function}({names})", *arguments.values()
        )

    async def many(
        self,
        call: str,
        items: object,
        actors: Sequence[str | None] | None = None,
        within: Sequence[str | None] | None = None,
    ) -> list[Row]:
        """``preauth_api.<call>_many``: one row per item, in order."""
        rows = await self.connection.fetch(
            f"select n, status, headers, body from preauth_api.{call}_many($1, $2, $3)",
            items,
            actors,
            within,
        )
        return [Row(n, status, headers or {}, body) for n, status, headers, body in rows]

    async def one(self, call: str, **item: object) -> Row:
        """A batch of one: what the service sends for one request."""
        (row,) = await self.many(call, [item])
        return row

    async def reserve(
        self, request_id: str, account_id: str, amounts: Json, **more: object
    ) -> Json:
        reply: Json = await self.call(
            "reserve", request_id=request_id, account_id=account_id, amounts=amounts, **more
        )
        return reply

    async def settle(self, request_id: str, amounts: Json | None = None, **more: object) -> Json:
        given = {} if amounts is None else {"amounts": amounts}
        reply: Json = await self.call("settle", request_id=request_id, **given, **more)
        return reply

    async def release(self, request_id: str, reason: str = "not sent", **more: object) -> Json:
        reply: Json = await self.call("release", request_id=request_id, reason=reason, **more)
        return reply

    async def charge(self, request_id: str, account_id: str, amounts: Json, **more: object) -> Json:
        reply: Json = await self.call(
            "charge", request_id=request_id, account_id=account_id, amounts=amounts, **more
        )
        return reply

    async def reservation(self, request_id: str, account_id: str | None = None) -> Json:
        reply: Json = await self.call("reservation", request_id=request_id, account_id=account_id)
        return reply

    async def put_account(self, account_id: str, **body: object) -> Json:
        reply: Json = await self.call("put_account", account_id=account_id, body=body)
        return reply

    async def put_budget(self, account_id: str, name: str, body: Json) -> Json:
        reply: Json = await self.call("put_budget", account_id=account_id, name=name, body=body)
        return reply

    async def put_plan(self, plan_id: str, *budgets: Json, **body: object) -> Json:
        reply: Json = await self.call(
            "put_plan", plan_id=plan_id, body={"budgets": list(budgets), **body}
        )
        return reply

    async def windows(self, account_id: str, *, audit: bool = True) -> list[Json]:
        """Every current window of the account, its ancestors' included."""
        reply = await self.call("balance", account_id=account_id, audit=audit)
        windows: list[Json] = reply["windows"]
        return windows

    async def window(self, account_id: str, name: str = "cap", scope: str | None = None) -> Json:
        """One current window, by the budget's name and the account that owns the window."""
        matches = [
            w
            for w in await self.windows(account_id)
            if w["budget"] == name and w["scope"] == (scope or account_id)
        ]
        assert len(matches) == 1, matches
        return matches[0]

    async def figures(
        self, account_id: str, name: str = "cap", scope: str | None = None
    ) -> "Figures":
        w = await self.window(account_id, name, scope)
        return Figures(w["settled"], w["reserved"], w["available"])


@dataclass(frozen=True)
class Figures:
    """What a window says: available = limit - settled - reserved."""

    settled: int
    reserved: int
    available: int | None
