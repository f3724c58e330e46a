"""Batches that fit in part, many at once and beside changes: what is let in stays within the limit."""

import asyncio
import random
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest

from tests.support.checks import assert_denied, assert_problem, assert_same, rfc3339
from tests.support.money import DAY, LIFETIME, budget, rolling, tokens
from tests.support.session import Figures
from tests.support.waits import until

MINUTE = timedelta(minutes=1)
PARENTS = {f"member{n}": f"team{n % 3}" for n in range(9)} | {f"team{n}": "org" for n in range(3)}
LIMITS = {f"member{n}": 200 for n in range(9)} | {f"team{n}": 500 for n in range(3)} | {"org": 1200}
WINDOWS = {"member": rolling(86400, 24), "team": DAY, "org": LIFETIME}


def item(request_id, account, amount):
    return {"request_id": request_id, "account_id": account, "amounts": tokens(amount)}


async def met(ledger, *accounts):
    """Each account's windows are made and its route is kept: what fits from now on fits plainly."""
    for account in accounts:
        await ledger.reserve("first", account, tokens(0))


@pytest.fixture
async def tree(ledger, clock):
    """Nine members of three teams of one organisation; none has room for all that is below it."""
    for account in reversed(LIMITS):
        window = WINDOWS[account.rstrip("0123456789")]
        await ledger.put_account(account, parent_id=PARENTS.get(account))
        await ledger.put_budget(account, "cap", budget(limit=LIMITS[account], window=window))
    await met(ledger, *LIMITS)
    return ledger


def drawn(dice, number):
    """A batch for members all over the tree, and the same in reverse."""
    members = dice.sample(range(9), 6)
    items = [item(f"r{number}-{n}", f"member{n}", dice.randrange(1, 40)) for n in members]
    return [items, items[::-1]]


def path(account):
    return [account, *(path(PARENTS[account]) if account in PARENTS else [])]


def answers(rows, again):
    """One answer a request, of the two times that it was sent: the second repeats the first."""
    both = {}
    for row in [*rows, *again]:
        both.setdefault(row.body["request_id"], []).append(row.body)
    for pair in both.values():
        assert_same(*sorted(pair, key=lambda body: body["replayed"]))
    return [pair[0] for pair in both.values()]


@pytest.mark.parametrize("seed", range(4))
async def test_batches_that_fit_in_part_fill_three_levels_to_their_limits_and_no_further(
    tree, seed
):
    dice = random.Random(seed)
    batches = [batch for number in range(24) for batch in drawn(dice, number)]
    sent = await tree.race([lambda s, b=b: s.many("reserve", b) for b in batches], 16)
    told = [body for two in zip(sent[::2], sent[1::2], strict=True) for body in answers(*two)]
    held = Counter()
    for body in told:
        if body["decision"] == "authorized":
            amount = body["lines"][0]["amount"]
            held.update(dict.fromkeys(path(body["account_id"]), amount))
    room = {}
    for account, limit in LIMITS.items():
        assert held[account] <= limit
        room[account] = limit - held[account]
        assert await tree.figures(account) == Figures(0, held[account], room[account])
    denied = [body for body in told if body["decision"] == "denied"]
    assert all(room[body["scope"]] < body["required"] for body in denied)
    assert {"team", "org"} & {body["scope"].rstrip("0123456789") for body in denied}


def fits_in_part(rows):
    return {row.body.get("decision") for row in rows} == {"authorized", "denied"}


async def while_held(ledger, first, then, ending):
    """The answers to a batch that waits for the one before, which then commits or is killed."""
    holder, waiter = await ledger.sessions(2)
    transaction = holder.connection.transaction()
    await transaction.start()
    await first(holder)
    waiting = asyncio.create_task(waiter.many("reserve", then))
    await until(lambda: ledger.waits(waiter), "the second waits for the first")
    if ending == "commits":
        await transaction.commit()
    else:
        await ledger.connection.execute("select pg_terminate_backend($1)", holder.pid)
    return [row.body for row in await waiting]


@pytest.fixture
async def three(ledger):
    for account in ("ann", "bob", "eve"):
        await ledger.grant(account)
    await met(ledger, "ann", "bob", "eve")
    return ledger


@pytest.mark.parametrize("ending", ["commits", "is killed"])
async def test_ids_that_a_batch_has_used_by_the_time_it_ends_are_its_own(three, ending):
    first = [item("r1", "ann", 400), item("r2", "bob", 400), item("r3", "ann", 700)]
    then = [item("r2", "bob", 300), item("r4", "eve", 10), item("r1", "ann", 400)]
    bodies = await while_held(three, lambda s: s.many("reserve", first), then, ending)
    is_first = ending == "is killed"
    assert bodies[1]["decision"] == bodies[2]["decision"] == "authorized"
    assert bodies[2]["replayed"] is not is_first
    if is_first:
        assert bodies[0]["lines"][0]["amount"] == 300
    else:
        assert_problem(bodies[0], 409, "request_id_conflict")
    held = {"ann": 400, "bob": 300 if is_first else 400, "eve": 10}
    for account, amount in held.items():
        assert await three.figures(account) == Figures(0, amount, 1000 - amount)
    assert await three.count("hold_line", "amount > 0") == 3


@pytest.mark.parametrize("limit", [300, 500])
async def test_a_batch_that_waited_for_another_limit_is_decided_by_it(three, limit):
    async def lower(session):
        await session.put_budget("ann", "cap", budget(limit=limit))

    then = [item("r1", "bob", 10), item("r2", "ann", 400), item("r3", "ann", 200)]
    bodies = await while_held(three, lower, then, "commits")
    fits = {300: [True, False, True], 500: [True, True, False]}[limit]
    assert [body["decision"] == "authorized" for body in bodies] == fits
    (no,) = [body for body in bodies if body["decision"] == "denied"]
    assert (no["limit"], no["available"]) == (limit, {300: 300, 500: 100}[limit])


@pytest.mark.parametrize("call", ["reserve", "charge"])
async def test_who_waited_until_a_raise_had_ended_has_the_room_without_it(ledger, clock, call):
    await ledger.grant("ann")
    body = {"amount": 1000, "expires_at": rfc3339(clock.now + MINUTE), "reason": "a busy minute"}
    await ledger.call("put_raise", account_id="ann", name="cap", body=body)
    await ledger.reserve("first", "ann", tokens(0))
    parked, waiter = await ledger.sessions(2)
    async with parked.connection.transaction():
        await parked.connection.execute("select from preauth.budget_window for update")
        waiting = asyncio.create_task(waiter.one(call, **item("r1", "ann", 1500)))
        await until(lambda: ledger.waits(waiter), "it waits for the window")
        clock.advance(minutes=1)
    assert_denied((await waiting).body, "exceeds_limit", limit=1000, available=1000)
    assert await ledger.count("usage_event", "actor = 'schedule'") == 1


async def test_a_batch_sent_again_after_its_windows_ended_waits_in_no_ring(ledger, clock):
    """On two days they share no window, and meet at their keys alone, the second the longer."""
    for account in ("ann", "bob"):
        await ledger.grant(account, window=DAY)
    await met(ledger, "ann", "bob")
    await ledger.reserve("before", "ann", tokens(600))
    batch = [item("r1", "ann", 500), item("r2", "bob", 100)]
    parked, first, again = await ledger.sessions(3)
    async with parked.connection.transaction():
        await parked.connection.execute("lock table preauth.hold_line in share mode")
        begun = asyncio.create_task(first.many("reserve", batch))
        await until(lambda: ledger.waits(first), "the first has taken keys")
        clock.advance(days=1)
        repeated = asyncio.create_task(again.many("reserve", batch))
        await until(lambda: ledger.waits(again), "the second waits for a key")
    rows, others = await begun, await repeated
    assert [row.status for row in rows] == [row.status for row in others] == [429, 200]
    assert [row.body["replayed"] for row in others] == [True, True]
    assert await ledger.figures("bob") == Figures(0, 0, 1000)


class Changes:
    """Gives ann other limits, one after the other, each with what she holds at that moment."""

    def __init__(self, session):
        self.session, self.seen = session, []

    async def lift(self, limit):
        await self.session.call("delete_raise", account_id="ann", name="cap", reason="other")
        if limit > 100:
            body = {"amount": limit - 100, "expires_at": "2099-01-01T00:00:00Z", "reason": "more"}
            await self.session.call("put_raise", account_id="ann", name="cap", body=body)

    async def set(self, limit):
        await self.session.put_budget("ann", "cap", budget(limit=limit))

    async def switch(self, limit):
        body = {"plan_id": f"p{limit}", "reason": "other"}
        await self.session.call("switch_plan", account_id="ann", body=body)

    async def make(self, change, limit):
        async with self.session.connection.transaction():
            await getattr(self, change)(limit)
            window = await self.session.window("ann")
            assert window["limit"] == limit
            self.seen.append((limit, window["reserved"]))


class Client:
    """Sends batches of three until it is told to stop; counts those that fitted in part."""

    def __init__(self, session, number):
        self.session, self.number = session, number
        self.dice = random.Random(number)
        self.stopping = False
        self.rows = []

    async def run(self):
        sent = 0
        while not self.stopping:
            sent += 1
            names = self.dice.sample(["ann", "bob", "eve"], 3)
            batch = [
                item(f"c{self.number}-{sent}-{name}", name, self.dice.randrange(1, 20))
                for name in names
            ]
            await self.send(batch)

    async def send(self, batch):
        self.rows.append(await self.session.many("reserve", batch))

    def denied(self, name):
        return sum(
            row.body["account_id"] == name and row.status != 200
            for rows in self.rows
            for row in rows
        )


async def under_load(ledger, changing):
    """Does the changing while six clients send batches for ann, bob and eve; the clients."""
    clients = [Client(s, n) for n, s in enumerate(await ledger.sessions(6))]
    running = [asyncio.create_task(client.run()) for client in clients]
    try:
        await changing(clients)
    finally:
        for client in clients:
            client.stopping = True
        await asyncio.gather(*running)
    return clients


@pytest.fixture
async def family(ledger):
    """ann, whose plan has least of several, bob and eve with much, below one that has more."""
    limits = [100, 200, 300, 400, 500, 600, 700]
    for limit in limits:
        await ledger.put_plan(f"p{limit}", budget("cap", limit))
    await ledger.grant("org", 10**8)
    await ledger.put_account("ann", parent_id="org", plan_id="p100")
    for name in ("bob", "eve"):
        await ledger.put_account(name, parent_id="org")
        await ledger.grant(name, 10**7)
    await met(ledger, "ann", "bob", "eve")
    return ledger


@pytest.mark.parametrize("change", ["set", "switch", "lift"])
async def test_a_limit_that_goes_up_and_down_under_batches_is_never_passed(family, change):
    changes = Changes(await family.connect())

    async def changing(clients):
        for limit in [100, 300, 200, 500, 400, 700, 600]:
            before = sum(client.denied("ann") for client in clients)
            await changes.make(change, limit)
            await until(lambda before=before: more_denied(clients, before), "ann has no room left")

    async def more_denied(clients, before):
        return sum(client.denied("ann") for client in clients) > before + 3 * len(clients)

    clients = await under_load(family, changing)
    last = await family.window("ann")
    seen = [*changes.seen, (last["limit"], last["reserved"])]
    for (limit, held), (_, later) in pairwise(seen):
        assert held <= later <= max(held, limit)
    assert last["reserved"] > 600
    assert any(fits_in_part(rows) for client in clients for rows in client.rows)


@pytest.mark.parametrize("suspended", ["ann", "org"])
async def test_what_begins_after_a_suspension_holds_nothing_for_those_below(family, suspended):
    await family.put_budget("ann", "cap", budget(limit=10**7))
    stopped = ["ann"] if suspended == "ann" else ["ann", "bob", "eve"]
    asked = Counter()

    async def answered(clients, count):
        return min(len(client.rows) for client in clients) >= count

    async def changing(clients):
        await until(lambda: answered(clients, 5), "each has held something")
        await family.put_account(suspended, status="suspended")
        asked.update({client.number: len(client.rows) + 1 for client in clients})
        most = max(asked.values())
        await until(lambda: answered(clients, most + 5), "each has asked since")

    for client in await under_load(family, changing):
        assert {row.status for row in client.rows[0]} == {200}
        for rows in client.rows[asked[client.number] :]:
            for row in rows:
                is_stopped = row.body["account_id"] in stopped
                assert row.status == (402 if is_stopped else 200), row.body
