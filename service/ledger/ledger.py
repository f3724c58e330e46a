"""The ledger's functions, by name. A call here is one function call, one transaction."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from service.ledger.carrier import LedgerCarrier
from service.ledger.coalescer import Coalescer, Passenger, Waiting
from service.ledger.connections import Connections, session_settings
from service.ledger.outcome import Outcome
from service.ledger.records import Alert, Call, Item, KeyRecord, StuckHolds
from service.settings import Settings

__all__ = ["Ledger"]


class Ledger:
    """Every way from the service into PostgreSQL."""

    def __init__(self, connections: Connections, *, lanes: int = 1) -> None:
        self._connections = connections
        self._roots: dict[str | None, str] = {}
        self._coalescer = Coalescer(
            [LedgerCarrier(connections.seat(), self._roots) for _ in range(lanes)]
        )

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Build a ledger on ``settings.database_url``; `open` makes it usable.

        Raises:
            ValueError: no database is set.
        """
        if settings.database_url is None:
            raise ValueError("PREAUTH_DATABASE_URL is not set")
        return cls(
            Connections(
                settings.database_url,
                size=settings.pool_size,
                timeout=settings.database_timeout,
                session=session_settings(settings),
            ),
            lanes=settings.lanes,
        )

    async def open(self) -> None:
        """Prepare the pool. Connects to nothing yet."""
        await self._connections.open()

    async def close(self) -> None:
        """Answer the calls that are under way, then give every connection back."""
        await self._coalescer.drain()
        await self._connections.close()

    async def call(
        self,
        name: Call,
        item: str,
        actor: str | None = None,
        within: str | None = None,
        *,
        account_id: str | None = None,
    ) -> Outcome:
        """Make one call: ``item`` is the JSON text of its body.

        It travels with the calls of the same name that come while a batch is under way.
        ``actor``: who asks, for the audit. ``within``: the subtree that the caller is bound to.
        ``account_id``: whose call it is, if known: calls of one tree of accounts share a lane,
        so that batches don't wait for each other's rows.
        """
        return await self.send(name, [Item(item, account_id)], actor, within)[0]

    def send(
        self,
        name: Call,
        items: Sequence[Item],
        actor: str | None = None,
        within: str | None = None,
    ) -> list[asyncio.Future[Outcome]]:
        """Make calls of one name as `call` does, decided in this order; their answers to come.

        Only one lane keeps an order: that of the first one's account.
        """
        deadline, loop = self._connections.deadline(), asyncio.get_running_loop()
        answers = [loop.create_future() for _ in items]
        passengers = [
            Passenger(name, text, actor, within, account_id, deadline, answer)
            for (text, account_id), answer in zip(items, answers, strict=True)
        ]
        first = items[0].account_id if items else None
        self._coalescer.send(passengers, self._roots.get(first, first))
        return answers

    def send_one(
        self, name: Call, item: Item, actor: str | None, within: str | None, answer: Waiting
    ) -> None:
        """Make a call as `call` does, for who need not be a future: a model call is made often."""
        text, account_id = item
        passenger = Passenger(
            name, text, actor, within, account_id, self._connections.deadline(), answer
        )
        self._coalescer.send((passenger,), self._roots.get(account_id, account_id))

    async def balance(self, account_id: str, *, audit: bool, within: str | None) -> Outcome:
        """Every current window of the account; fill levels of shared ones only for ``audit``."""
        return await self._read(
            "balance(account_id => $1, audit => $2, within => $3)", account_id, audit, within
        )

    async def reservation(
        self, request_id: str, account_id: str | None, within: str | None
    ) -> Outcome:
        """A reservation with its lines and its whole timeline."""
        return await self._read(
            "reservation(request_id => $1, account_id => $2, within => $3)",
            request_id, account_id, within,
        )  # fmt: skip

    async def audit(self, question: str, arguments: Mapping[str, str]) -> Outcome:
        """Ask ``preauth_api.audit_<question>``; names are the service's own, values are text."""
        named = (f"{n} => {_READ_AS.get(n, '{}').format(f'${i}::text')}"
                 for i, n in enumerate(arguments, 1))  # fmt: skip
        return await self._read(f"audit_{question}({', '.join(named)})", *arguments.values())

    async def put_plan(self, plan_id: str, body: str, actor: str) -> Outcome:
        """Create or replace a plan."""
        return await self._write(
            "put_plan(plan_id => $1, body => $2, actor => $3)", plan_id, body, actor
        )

    async def plan(self, plan_id: str) -> Outcome:
        """A plan with its budgets."""
        return await self._read("plan(plan_id => $1)", plan_id)

    async def publish_price_table(self, body: str, actor: str) -> Outcome:
        """Publish rates of a model."""
        return await self._write("publish_price_table(body => $1, actor => $2)", body, actor)

    async def price_tables(self, model: str | None, at: datetime | None) -> Outcome:
        """Published price tables by name."""
        return await self._read("price_tables(model => $1, at => $2)", model, at)

    async def price_table(self, price_table_id: int) -> Outcome:
        """One price table."""
        return await self._read("price_table(price_table_id => $1)", price_table_id)

    async def rerate(
        self,
        wrong_table: int,
        right_table: int,
        since: datetime,
        until: datetime,
        *,
        confirm: bool,
        reason: str | None,
        actor: str,
    ) -> Outcome:
        """Price spend of a wrong table by the right one; adjust, when confirmed."""
        return await self._write(
            "rerate(wrong_table => $1, right_table => $2, since => $3, until => $4,"
            " confirm => $5, reason => $6, actor => $7)",
            wrong_table, right_table, since, until, confirm, reason, actor,
        )  # fmt: skip

    async def put_account(self, account_id: str, body: str, actor: str) -> Outcome:
        """Create an account or merge into it."""
        return await self._write(
            "put_account(account_id => $1, body => $2, actor => $3)", account_id, body, actor
        )

    async def account(self, account_id: str, within: str | None) -> Outcome:
        """An account with its own budgets."""
        return await self._read("account(account_id => $1, within => $2)", account_id, within)

    async def put_budget(self, account_id: str, name: str, body: str, actor: str) -> Outcome:
        """Create or replace one budget of an account."""
        return await self._write(
            "put_budget(account_id => $1, name => $2, body => $3, actor => $4)",
            account_id, name, body, actor,
        )  # fmt: skip

    async def delete_budget(
        self, account_id: str, name: str, reason: str | None, actor: str
    ) -> Outcome:
        """Retire one budget of an account; its history stays."""
        return await self._write(
            "delete_budget(account_id => $1, name => $2, reason => $3, actor => $4)",
            account_id, name, reason, actor,
        )  # fmt: skip

    async def switch_plan(self, account_id: str, body: str, actor: str) -> Outcome:
        """Put an account under another plan."""
        return await self._write(
            "switch_plan(account_id => $1, body => $2, actor => $3)", account_id, body, actor
        )

    async def adjust(self, account_id: str, body: str, actor: str) -> Outcome:
        """Correct what a window counts as settled, once for each idempotency key."""
        return await self._read(
            "adjust(account_id => $1, body => $2, actor => $3)", account_id, body, actor
        )

    async def reset(self, account_id: str, body: str, actor: str) -> Outcome:
        """Adjust a window to nothing settled."""
        return await self._write(
            "reset(account_id => $1, body => $2, actor => $3)", account_id, body, actor
        )

    async def put_raise(self, account_id: str, name: str, body: str, actor: str) -> Outcome:
        """Raise a budget of an account until an instant."""
        return await self._write(
            "put_raise(account_id => $1, name => $2, body => $3, actor => $4)",
            account_id, name, body, actor,
        )  # fmt: skip

    async def delete_raise(
        self, account_id: str, name: str, reason: str | None, actor: str
    ) -> Outcome:
        """End a raise before its time."""
        return await self._write(
            "delete_raise(account_id => $1, name => $2, reason => $3, actor => $4)",
            account_id, name, reason, actor,
        )  # fmt: skip

    async def create_key(
        self, name: str, role: str, key_hash: bytes, account_id: str | None, actor: str
    ) -> Outcome:
        """Record a key by its SHA-256."""
        return await self._write(
            "create_key(name => $1, role => $2, key_hash => $3, account_id => $4, actor => $5)",
            name, role, key_hash, account_id, actor,
        )  # fmt: skip

    async def revoke_key(self, key_id: str, actor: str) -> Outcome:
        """Make a key useless from now on."""
        return await self._write("revoke_key(key_id => $1, actor => $2)", key_id, actor)

    async def keys(self) -> Outcome:
        """Every key, without its secret."""
        return await self._read("keys()")

    async def key_by_hash(self, key_hash: bytes) -> KeyRecord | None:
        """The live key with this SHA-256, if there is one."""
        rows = await self._connections.fetch(
            "select k ->> 'key_id', k ->> 'role', k ->> 'account_id'"
            " from preauth_api.key_by_hash(key_hash => $1) as k where k is not null",
            key_hash,
            resend=True,
        )
        return KeyRecord(*rows[0]) if rows else None

    async def expire_due(self, max_count: int) -> int:
        """Expire up to ``max_count`` lapsed holds; how many were."""
        rows = await self._connections.fetch(
            "select preauth_api.expire_due(max_count => $1)", max_count, resend=True
        )
        return int(rows[0][0])

    async def apply_due(self, max_count: int) -> int:
        """Write down up to ``max_count`` changes of plans and ends of raises; how many."""
        rows = await self._connections.fetch(
            "select preauth_api.apply_due(max_count => $1)", max_count, resend=True
        )
        return int(rows[0][0])

    async def take_alerts(self, max_count: int, retry_seconds: int) -> list[Alert]:
        """Take up to ``max_count`` messages that are due; nobody else gets them for so long."""
        rows = await self._connections.fetch(
            "select message_id, topic, body::text, created_at"
            " from preauth_api.take_alerts(max_count => $1, retry_seconds => $2)",
            max_count, retry_seconds, resend=False,
        )  # fmt: skip
        return [Alert(*row) for row in rows]

    async def confirm_alerts(self, message_ids: Sequence[int]) -> None:
        """Note that the receiver has these messages."""
        await self._connections.fetch(
            "select preauth_api.confirm_alerts(message_ids => $1)", message_ids, resend=True
        )

    async def stuck(self, max_count: int) -> list[StuckHolds]:
        """The oldest ``max_count`` (1 to 500) holds that time will not end, counted by state."""
        rows = await self._connections.fetch(
            "select i ->> 'state', count(*), max((i ->> 'age_seconds')::bigint) from"
            " jsonb_array_elements(preauth_api.audit_stuck(max_count => $1) -> 'items') as i"
            " group by 1",
            max_count, resend=True,
        )  # fmt: skip
        return [StuckHolds(*row) for row in rows]

    async def revision(self) -> str | None:
        """The migration that the database is at."""
        rows = await self._connections.fetch(_REVISION, resend=True)
        return rows[0][0] if rows else None

    async def _read(self, function: str, *args: object) -> Outcome:
        return await self._ask(function, *args, resend=True)

    async def _write(self, function: str, *args: object) -> Outcome:
        return await self._ask(function, *args, resend=False)

    async def _ask(self, function: str, *args: object, resend: bool) -> Outcome:
        rows: Sequence[Any] = await self._connections.fetch(
            _ANSWER.format(function), *args, resend=resend
        )
        return Outcome.of(rows[0][0], None, rows[0][1])


_READ_AS = {
    "since": "{}::timestamptz",
    "until": "{}::timestamptz",
    "max_count": "{}::integer",
    "older_than_seconds": "{}::integer",
    "by": "string_to_array({}, ',')",
}
"""How the arguments of an audit's question that are no text are read from text."""

_ANSWER = (
    "select case when jsonb_typeof(a -> 'status') = 'number' and a ? 'type'"
    " then (a ->> 'status')::integer else 200 end, a::text from preauth_api.{} as a"
)

_REVISION = "select preauth_api.revision()"
