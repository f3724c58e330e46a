"""Settlements that are plain are settled at once: with the answers and the rows of all others."""

import json
import random
from datetime import timedelta

import asyncpg
import pytest

from tests.support.money import HOUR, LIFETIME, MAX_AMOUNT, budget, fixed, rolling, tokens, usd
from tests.support.ways import outcome

PLAINLY = "_settle_plainly(asks preauth._ask[], held preauth.reservation[], places tid[], at timestamptz) returns preauth._answer[]"
BY_ROUND = "_settle_round(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]"
RAISES = "raise exception 'not this way'"
UNITS = {"tokens": 900, "usd_nano": 5000, "requests": 3, "credits": 40, "tries": 4}
OUTCOMES = [{}, {}, {"outcome": "completed"}, {"outcome": "interrupted"}]
ODD = [
    {"outcome": "unknown", "amounts": None},
    {"amounts": {}},
    {"amounts": tokens(1)},
    {"amounts": None},
    {"usage": {"input_tokens": 3}},
    {"account_id": "cid"},
]
WINDOWS = [LIFETIME, LIFETIME, HOUR, fixed(300), rolling(600, 6), rolling(60, 6)]
SEEDS = range(60)


class Draw:
    """One random ledger, and a batch of settlements for it."""

    def __init__(self, ledger, clock, seed):
        self.ledger, self.clock, self.dice = ledger, clock, random.Random(seed)
        self.is_odd = seed % 3 == 0
        self.units = self.dice.sample(list(UNITS), self.dice.randint(1, 3))
        self.accounts, self.budgets = {}, {}

    async def fill(self):
        await self.ledger.put_account("org")
        for name in ("ann", "bob"):
            more = {"max_open_holds": 50} if self.is_odd and self.dice.random() < 0.2 else {}
            parent = self.dice.choice(["org", None])
            await self.ledger.put_account(name, parent_id=parent, **more)
        for account in ("org", "ann", "bob"):
            for unit in self.units:
                if account != "org" or self.dice.random() < 0.6:
                    body = self.budgets[account, f"b-{unit}"] = self.budget(unit)
                    await self.ledger.put_budget(account, f"b-{unit}", body)
        for n in range(12):
            if n == 6 and self.is_odd:
                await self.keep()
            await self.hold(n)
        if self.dice.random() < 0.3:
            await self.change()
        self.clock.advance(seconds=self.dice.choice([1, 1, 1, 400]) if self.is_odd else 1)

    def budget(self, unit):
        more = {"enforcement": "soft"} if self.dice.random() < 0.2 else {}
        if self.dice.random() < 0.4:
            more["thresholds"] = [1, 2, 5]
        if self.is_odd:
            more["overage"] = self.dice.choice(["charge", "reject"])
            more["on_expiry"] = self.dice.choice(["keep", "keep", "charge", "release"])
        window = self.dice.choice(WINDOWS)
        return budget(limit=self.dice.choice([None, 10**6]), unit=unit, window=window, **more)

    async def change(self):
        """A raise, which may have ended by the time of the batch, a correction, another parent."""
        name = f"b-{self.dice.choice(self.units)}"
        until = self.clock.now + timedelta(milliseconds=self.dice.choice([500, 5000]))
        raised = {"amount": 77, "expires_at": until.isoformat()}
        await self.ledger.call("put_raise", account_id="ann", name=name, body=raised)
        corrected = {"budget": name, "amount": -500, "reason": "drawn", "idempotency_key": "once"}
        await self.ledger.call("adjust", account_id="ann", body=corrected)
        await self.ledger.put_account("ann", parent_id=self.dice.choice(["org", None]))

    async def keep(self):
        """Budgets that make no leases any more, on windows that have some."""
        for (account, name), body in self.budgets.items():
            await self.ledger.put_budget(account, name, {**body, "on_expiry": "keep"})

    async def hold(self, n):
        account = self.accounts[n] = self.dice.choice(["ann", "bob"])
        ttl = 100 if n < 6 else 1000
        await self.ledger.reserve(f"r{n}", account, self.amounts(1), ttl_seconds=ttl)
        if self.dice.random() < 0.2:
            await self.ledger.call("cancel", request_id=f"r{n}")
        if self.is_odd and self.dice.random() < 0.1:
            await self.ledger.release(f"r{n}")
        if self.is_odd and self.dice.random() < 0.1:
            await self.ledger.settle(f"r{n}", self.amounts(1))

    def amounts(self, most):
        return {unit: int(self.dice.random() * most * UNITS[unit]) for unit in self.units}

    def batch(self):
        names = self.dice.sample(range(12), self.dice.choice([1, 2, 5, 12]))
        if self.is_odd and self.dice.random() < 0.2:
            names.append(names[0])
        return [self.item(n) for n in names]

    def item(self, n):
        most = self.dice.choice([0, 0.5, 1, 3])
        item = {"request_id": f"r{n}", "amounts": self.amounts(most), **self.dice.choice(OUTCOMES)}
        if self.dice.random() < 0.7:
            item["account_id"] = self.accounts[n]
        if self.dice.random() < 0.3:
            item["provider_request_id"] = f"p-{n}"
        if self.dice.random() < 0.3:
            item["amounts"]["unheld"] = 5
        if len(item["amounts"].keys() - {"requests"}) and self.dice.random() < 0.3:
            item["amounts"].pop("requests", None)
        if self.is_odd and self.dice.random() < 0.1:
            item |= self.dice.choice(ODD)
        return item


async def is_plain(ledger, batch):
    """Whether it is settled without a round."""
    try:
        await outcome(ledger, "settle", batch, (BY_ROUND, RAISES))
    except asyncpg.RaiseError:
        return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
async def test_answers_and_rows_are_those_of_a_round(ledger, clock, seed):
    draw = Draw(ledger, clock, seed)
    await draw.fill()
    for _ in range(4):
        batch = draw.batch()
        answers, rows = await outcome(ledger, "settle", batch)
        by_round, rows_by_round = await outcome(ledger, "settle", batch, (PLAINLY, "return null"))
        assert json.dumps(answers) == json.dumps(by_round)
        assert rows == rows_by_round
        assert draw.is_odd or await is_plain(ledger, batch)
    await ledger.many("settle", draw.batch())


async def held(ledger, **more):
    await ledger.grant("ann", MAX_AMOUNT, **more)
    for n in range(3):
        await ledger.reserve(f"r{n}", "ann", tokens(100))


def items(*used):
    return [{"request_id": f"r{n}", "amounts": tokens(amount)} for n, amount in enumerate(used)]


async def test_what_is_plain_takes_no_round(ledger, clock):
    await held(ledger)
    assert await is_plain(ledger, items(60, 100, 0))
    assert await is_plain(ledger, items(300))


async def test_one_that_is_not_takes_the_batch_to_a_round(ledger, clock):
    await held(ledger)
    assert not await is_plain(ledger, [*items(60), items(60)[0]])
    assert not await is_plain(ledger, [*items(60), {"request_id": "r1", "amounts": usd(5)}])
    assert not await is_plain(ledger, [*items(60), {"request_id": "r1", "outcome": "unknown"}])
    await ledger.settle("r1", tokens(1))
    assert not await is_plain(ledger, items(60, 1))


@pytest.mark.parametrize("more", [{"overage": "reject"}, {"on_expiry": "release"}])
async def test_a_refused_overage_and_a_lease_are_not_plain(ledger, clock, more):
    await held(ledger, **more)
    assert not await is_plain(ledger, items(60, 300))


@pytest.mark.parametrize("on_expiry", ["keep", "charge"])
async def test_what_has_expired_is_not_plain(ledger, clock, on_expiry):
    await held(ledger, on_expiry=on_expiry)
    clock.advance(seconds=120)
    assert not await is_plain(ledger, items(60))


@pytest.mark.parametrize(
    ("call", "arguments", "state"),
    [
        ("settle", {"outcome": "unknown"}, "unknown"),
        ("release", {"reason": "x"}, "released"),
        ("cancel", {}, "cancellation_requested"),
        ("extend", {"ttl_seconds": 500}, "authorized"),
    ],
)
async def test_a_count_of_requests_is_settled_by_settlements_alone(
    ledger, clock, call, arguments, state
):
    """Nothing has to be told of it, so that nothing is missing in the other calls."""
    await ledger.grant("ann", unit="requests")
    await ledger.reserve("r", "ann", {"requests": 1})
    await ledger.call(call, request_id="r", **arguments)
    assert (await ledger.reservation("r"))["state"] == state


LINELESS = [
    {"outcome": "unknown"},
    {"amounts": tokens(5)},
    {"usage": {"input_tokens": 5}, "amounts": tokens(5)},
]


@pytest.mark.parametrize("more", LINELESS)
@pytest.mark.parametrize("times", [1, 2])
async def test_one_without_a_line_beside_one_that_has_some(ledger, clock, more, times):
    await held(ledger)
    await ledger.reserve("none", "ann", tokens(0))
    await ledger.connection.execute("delete from preauth.hold_line where request_id = 'none'")
    batch = [*items(60), *[{"request_id": "none", **more}] * times]
    assert await outcome(ledger, "settle", batch) == await outcome(
        ledger, "settle", batch, (PLAINLY, "return null")
    )
    assert not await is_plain(ledger, batch)
