"""Accounts change while they spend: nothing is lost, nobody waits for ever."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from tests.support.money import DAY, LIFETIME, MONTH, budget, fixed, tokens
from tests.support.session import Figures
from tests.support.waits import until

CLIENTS = 32
ROUNDS = 12
ACCOUNTS = [f"user{n}" for n in range(8)]
TEAMS = ["red", "blue"]


def spend(amount: int) -> dict[str, int]:
    return {"tokens": amount, "requests": 1}


async def make_tree(ledger):
    """A root that counts all there is, two teams, eight users, three plans with a budget alike."""
    await ledger.grant("root", 10**12, "all", window=LIFETIME)
    await ledger.put_plan("free", budget("cap", 40_000, window=MONTH))
    await ledger.put_plan(
        "pro",
        budget("cap", 900_000, window=MONTH),
        budget("rate", 10**6, unit="requests", window=fixed(1)),
    )
    await ledger.put_plan(
        "team",
        budget("cap", 10**7, window=MONTH, rollover={"max": 500}),
        budget("daily", 10**6, window=DAY, on_expiry="release"),
    )
    for team in TEAMS:
        await ledger.put_account(team, parent_id="root", plan_id="team")
    for n, name in enumerate(ACCOUNTS):
        await ledger.put_account(name, parent_id=TEAMS[n % 2], plan_id=("free", "pro")[n % 2])


class Client:
    """Reserves, then settles or releases; remembers what it has settled."""

    def __init__(self, session, name: int) -> None:
        self.session, self.name = session, name
        self.dice = random.Random(name)
        self.settled = 0
        self.held: list[tuple[str, int]] = []

    async def run(self) -> None:
        for n in range(ROUNDS):
            await self.reserve(f"c{self.name}-{n}")
            if self.dice.random() < 0.7:
                await self.end_one()
        while self.held:
            await self.end_one()

    async def reserve(self, request_id: str) -> None:
        amount = self.dice.randrange(1, 200)
        account = self.dice.choice(ACCOUNTS)
        if self.dice.random() < 0.25:
            reply = await self.session.charge(request_id, account, spend(amount))
            self.settled += amount if reply["decision"] == "authorized" else 0
        else:
            reply = await self.session.reserve(request_id, account, spend(amount), ttl_seconds=600)
            if reply["decision"] == "authorized":
                self.held.append((request_id, amount))

    async def end_one(self) -> None:
        if not self.held:
            return
        request_id, amount = self.held.pop(self.dice.randrange(len(self.held)))
        if self.dice.random() < 0.2:
            reply = await self.session.release(request_id)
            assert reply["state"] == "released", reply
        else:
            actual = self.dice.randrange(amount + 1)
            reply = await self.session.settle(request_id, spend(actual))
            assert reply["state"] == "settled", reply
            self.settled += actual


class Admin:
    """Changes whatever can be changed, until it is told to stop."""

    def __init__(self, session, name: int) -> None:
        self.session, self.name = session, name
        self.dice = random.Random(1000 + name)
        self.keys = count()
        self.stopping = False
        self.adjusted_root = 0

    async def run(self) -> None:
        moves = [
            self.limits, self.switch, self.schedule, self.move, self.own, self.plan_by_account,
            self.lift, self.adjust, self.suspend, self.zone, self.due,
        ]  # fmt: skip
        while not self.stopping:
            reply = await self.dice.choice(moves)()
            if isinstance(reply, dict) and reply.get("status") not in {None, "active", "suspended"}:
                assert reply["status"] == 404, reply

    def account(self) -> str:
        return self.dice.choice(ACCOUNTS)

    async def call(self, function: str, **arguments):
        return await self.session.call(function, **arguments)

    async def limits(self):
        limit = self.dice.choice([20, 40_000, 10**6])
        budgets = [budget("cap", limit, window=MONTH)]
        return await self.session.put_plan("free", *budgets)

    async def switch(self):
        body = {"plan_id": self.dice.choice(["free", "pro", "team"])}
        return await self.call("switch_plan", account_id=self.account(), body=body)

    async def schedule(self):
        soon = datetime.now(UTC) + timedelta(seconds=self.dice.random())
        body = {"plan_id": self.dice.choice(["free", "pro"]), "at": soon.isoformat()}
        return await self.call("switch_plan", account_id=self.account(), body=body)

    async def move(self):
        return await self.session.put_account(self.account(), parent_id=self.dice.choice(TEAMS))

    async def own(self):
        if self.dice.random() < 0.5:
            return await self.call("delete_budget", account_id=self.account(), name="cap")
        return await self.session.put_budget(
            self.account(), "cap", budget(limit=10**6, window=MONTH)
        )

    async def plan_by_account(self):
        plan_id = self.dice.choice(["free", "pro", None])
        return await self.session.put_account(self.account(), plan_id=plan_id)

    async def lift(self):
        soon = datetime.now(UTC) + timedelta(seconds=self.dice.random() + 0.2)
        body = {"amount": 500, "expires_at": soon.isoformat()}
        return await self.call("put_raise", account_id=self.account(), name="cap", body=body)

    async def adjust(self):
        amount = self.dice.choice([-50, 70])
        key = f"a{self.name}-{next(self.keys)}"
        body = {"budget": "all", "amount": amount, "reason": "x", "idempotency_key": key}
        self.adjusted_root += amount
        return await self.call("adjust", account_id="root", body=body)

    async def suspend(self):
        account = self.account()
        await self.session.put_account(account, status="suspended")
        return await self.session.put_account(account, status="active")

    async def zone(self):
        zone = self.dice.choice(["UTC", "Asia/Tokyo", "Pacific/Niue"])
        return await self.session.put_account(self.account(), time_zone=zone)

    async def due(self):
        return await self.call("apply_due", max_count=10)


async def test_raising_lowering_switching_and_moving_under_32_clients_loses_nothing(ledger):
    await make_tree(ledger)
    clients = [Client(s, n) for n, s in enumerate(await ledger.sessions(CLIENTS))]
    admins = [Admin(s, n) for n, s in enumerate(await ledger.sessions(3))]
    changing = [asyncio.create_task(admin.run()) for admin in admins]
    await asyncio.gather(*(client.run() for client in clients))
    for admin in admins:
        admin.stopping = True
    await asyncio.gather(*changing)
    spent = sum(c.settled for c in clients) + sum(a.adjusted_root for a in admins)
    assert await ledger.figures("root", "all") == Figures(spent, 0, 10**12 - spent)
    reserved = "select sum(reserved) from preauth.budget_window"
    assert await ledger.connection.fetchval(reserved) == 0


@pytest.fixture
async def plans(ledger):
    await ledger.put_plan("free", budget("cap", 1000, window=LIFETIME))
    await ledger.put_plan("pro", budget("cap", 5000, window=LIFETIME))
    await ledger.put_account("ann", plan_id="free")
    return ledger


async def while_switching(ledger, call, plan="pro", *budgets):
    """What a call answers that begins while ann's change is not committed yet, nor its plan."""
    changing, calling = await ledger.sessions(2)
    change = changing.connection.transaction()
    await change.start()
    if budgets:
        await changing.put_plan(plan, *budgets)
    await changing.call("switch_plan", account_id="ann", body={"plan_id": plan})
    waiting = asyncio.create_task(call(calling))
    await until(lambda: ledger.waits(calling), "the call waits for the change")
    await change.commit()
    return await waiting


async def test_a_reserve_that_waited_for_a_switch_decides_by_the_new_plan(plans):
    await plans.charge("c1", "ann", tokens(900))
    reply = await while_switching(plans, lambda s: s.reserve("r1", "ann", tokens(4000)))
    assert reply["lines"][0]["available"] == 100
    assert await plans.figures("ann") == Figures(900, 4000, 100)


async def test_a_first_reserve_that_waited_for_a_switch_makes_the_new_plans_window(plans):
    reply = await while_switching(plans, lambda s: s.reserve("r1", "ann", tokens(4000)))
    assert reply["lines"][0]["available"] == 1000
    assert await plans.count("budget_window") == 1


async def test_a_settlement_that_waited_for_a_switch_lands_in_the_window_that_goes_on(plans):
    await plans.reserve("r1", "ann", tokens(900))
    reply = await while_switching(plans, lambda s: s.settle("r1", tokens(800)))
    assert (reply["state"], reply["lines"][0]["settled"]) == ("settled", 800)
    assert await plans.figures("ann") == Figures(800, 0, 4200)


@pytest.mark.parametrize("call", ["settle", "release"])
async def test_a_call_that_waited_for_a_plan_made_meanwhile_ends_its_hold_there(plans, call):
    """It began before the plan's budgets were there, and meets a window that is theirs by now."""
    await plans.reserve("r1", "ann", tokens(900))
    given = (tokens(800),) if call == "settle" else ()
    new = budget("cap", 7000, window=LIFETIME)
    reply = await while_switching(plans, lambda s: getattr(s, call)("r1", *given), "new", new)
    settled = 800 if call == "settle" else 0
    assert (reply["lines"][0]["budget"], reply["lines"][0]["available"]) == ("cap", 7000 - settled)
    assert await plans.figures("ann") == Figures(settled, 0, 7000 - settled)


async def test_a_switch_that_waited_for_a_reserve_takes_its_hold_along(plans):
    reserving, changing = await plans.sessions(2)
    reserve = reserving.connection.transaction()
    await reserve.start()
    await reserving.reserve("r1", "ann", tokens(900))
    body = {"plan_id": "pro"}
    waiting = asyncio.create_task(changing.call("switch_plan", account_id="ann", body=body))
    await until(lambda: plans.waits(changing), "the change waits for the reserve")
    await reserve.commit()
    await waiting
    assert await plans.figures("ann") == Figures(0, 900, 4100)


async def test_a_change_that_waits_for_another_has_locked_nothing_yet(plans):
    """Of what it will lock, or two of them could wait for each other in a ring."""
    await plans.put_account("bob", plan_id="free")
    first, second = await plans.sessions(2)
    change = first.connection.transaction()
    await change.start()
    await first.put_budget("ann", "own", budget(limit=5))
    waiting = asyncio.create_task(second.put_budget("bob", "own", budget(limit=5)))
    await until(lambda: plans.waits(second), "the second change waits for the first")
    await plans.connection.execute(
        "select from preauth.account where account_id = 'bob' for no key update nowait"
    )
    await change.commit()
    assert (await waiting)["limit_amount"] == 5


async def test_a_raise_that_is_put_while_the_one_before_ends_is_the_only_one(plans, clock):
    """Ending a raise takes no lock but its window's: a change has to wait for that."""
    await plans.charge("c1", "ann", tokens(1))
    old = {"amount": 500, "expires_at": "2026-09-14T12:00:10Z"}
    await plans.call("put_raise", account_id="ann", name="cap", body=old)
    clock.advance(seconds=10)
    ending, putting = await plans.sessions(2)
    end = ending.connection.transaction()
    await end.start()
    assert await ending.call("apply_due", max_count=10) == 1
    new = {"amount": 70, "expires_at": "2026-09-14T13:00:00Z"}
    put = putting.call("put_raise", account_id="ann", name="cap", body=new)
    waiting = asyncio.create_task(put)
    await until(lambda: plans.waits(putting), "the new raise waits for the old one's end")
    await end.commit()
    await waiting
    moves = "select amounts from preauth.usage_event where kind = 'limit_changed' order by event_id"
    found = [(row[0]["before"], row[0]["after"]) for row in await plans.connection.fetch(moves)]
    assert found == [(1000, 1500), (1500, 1000), (1000, 1070)]
