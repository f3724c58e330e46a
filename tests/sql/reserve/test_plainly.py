"""Calls that plainly fit are authorized at once: with the answers and the rows of all others."""

import json
import random
import re

import asyncpg
import pytest

from tests.support.money import LIFETIME, MAX_AMOUNT, budget, calendar, rolling, tokens
from tests.support.prices import MODEL, publish, rates
from tests.support.ways import outcome

ONE_BY_ONE = (
    "_take_plain(asks preauth._ask[]) returns preauth._answer[]",
    "return preauth._take(preauth._with_twins(asks), null)",
)
AS_UNUSUAL = (
    "_plain_asks(items jsonb, actors text[], within text[]) returns preauth._ask[]",
    "return array[]::preauth._ask[]",
)
NOT_ONE_BY_ONE = (
    "_take(asks preauth._ask[], kept preauth._route[]) returns preauth._answer[]",
    "raise exception 'not this way'",
)
UNITS = {"tokens": 900, "usd_nano": 5000, "requests": 2, "credits": 40}
WINDOWS = [LIFETIME, calendar("month"), calendar("day"), rolling(600, 6)]
ODD = [
    {"request_id": ""},
    {"request_id": "a b"},
    {"request_id": "x" * 128},
    {"request_id": "x" * 129},
    {"request_id": 7},
    {"request_id": None},
    {"account_id": "a b"},
    {"account_id": "nobody"},
    {"account_id": 7},
    {"account_id": "sue"},
    {"account_id": "new"},
    {"amounts": {}},
    {"amounts": None},
    {"amounts": [1]},
    {"amounts": 7},
    {"amounts": {"tokens": None}},
    {"amounts": {"tokens": 7.0}},
    {"amounts": {"tokens": 7.5}},
    {"amounts": {"tokens": "7"}},
    {"amounts": {"tokens": True}},
    {"amounts": {"tokens": -1}},
    {"amounts": {"tokens": MAX_AMOUNT}},
    {"amounts": {"tokens": MAX_AMOUNT + 1}},
    {"amounts": {"tokens": 1, "usd_nano": 1, "requests": None, "credits": 1}},
    {"amounts": {"tokens": 1, "usd_nano": 1, "credits": 1, "others": 1}},
    {"amounts": {"tokens": 1, "usd_nano": 1, "credits": 1, "Others": 1}},
    {"amounts": {"tokens": 1, "usd_nano": 1, "credits": 1, "open_holds": 7}},
    {"amounts": {"tokens": 1, "usd_nano": 1, "credits": 1} | {f"u{n}": 1 for n in range(14)}},
    {"ttl_seconds": 1},
    {"ttl_seconds": 86400},
    {"ttl_seconds": 86401},
    {"ttl_seconds": 0},
    {"ttl_seconds": None},
    {"ttl_seconds": 60.0},
    {"ttl_seconds": 60.5},
    {"ttl_seconds": "60"},
    {"model": "m/1"},
    {"model": "a b"},
    {"model": ""},
    {"model": 7},
    {"model": None},
    {"model": "m" * 129},
    {"session_id": "s-1"},
    {"session_id": "a b"},
    {"session_id": None},
    {"labels": {"team": "search"}},
    {"labels": {}},
    {"labels": {"team": None}},
    {"labels": {"Team": "a"}},
    {"labels": None},
    {"alternatives": None},
    {"alternatives": [{"amounts": {"tokens": 1}}]},
    {"dry_run": False},
    {"dry_run": True},
    {"dry_run": None},
    {"usage": {"output_tokens": 1}},
    {"max_usage": {"input_tokens": 10, "output_tokens": 10}, "model": MODEL},
    {"max_usage": {"input_tokens": 10, "output_tokens": 10}, "model": MODEL, "amounts": None},
    {"max_usage": {"prompt_tokens": 10, "output_tokens": 10}, "model": MODEL, "amounts": None},
    {"max_usage": {"input_tokens": 10, "output_tokens": 10}, "model": "m/1", "amounts": None},
    {"max_usage": {"input_tokens": 10}, "model": MODEL, "amounts": None},
    {"max_usage": {"input_tokens": 10, "output_tokens": None}, "model": MODEL, "amounts": None},
    {"max_usage": {"input_tokens": 1.5, "output_tokens": 1}, "model": MODEL, "amounts": None},
    {"max_usage": {"input_tokens": -1, "output_tokens": 1}, "model": MODEL, "amounts": None},
    {"max_usage": {"web_searches": 1, "output_tokens": 1}, "model": MODEL, "amounts": None},
    {"max_usage": {"things": 1, "output_tokens": 1}, "model": MODEL, "amounts": None},
    {"max_usage": {"No thing": 1, "output_tokens": 1}, "model": MODEL, "amounts": None},
    {"max_usage": {}, "model": MODEL, "amounts": None},
    {"max_usage": [1], "model": MODEL, "amounts": None},
]
PEOPLE = ["ann", "bob", "eve", "team", "org"]


class Draw:
    """One random ledger, and batches for it. Every third is odd; of four, one is a tree."""

    def __init__(self, ledger, clock, seed):
        self.ledger, self.clock, self.dice = ledger, clock, random.Random(seed)
        self.is_odd = seed % 3 == 0
        self.is_tree = seed % 4 == 1
        self.units = self.dice.sample(list(UNITS), self.dice.randint(1, 3))

    def chance(self, of):
        return self.dice.random() < of

    async def fill(self):
        parents = {"team": "org", "ann": "team", "bob": "team"} if self.is_tree else {}
        for name in [*reversed(PEOPLE), "sue", "new"]:
            await self.ledger.put_account(name, parent_id=parents.get(name))
            for unit in self.units:
                if not parents or name not in {"team", "org"} or self.chance(0.7):
                    await self.ledger.put_budget(name, f"b-{unit}", self.budget(unit))
        await publish(self.ledger, rates=rates(input_tokens="1", output_tokens="2"))
        for n, name in enumerate([*PEOPLE, "sue"] * 3):
            await self.ledger.reserve(f"old{n}", name, self.amounts(1))
            if self.chance(0.5):
                await self.ledger.settle(f"old{n}", self.amounts(1), account_id=name)
            self.clock.advance(seconds=self.dice.choice([1, 90]))
        await self.ledger.put_account("sue", status="suspended")
        for name in [*PEOPLE, "sue"]:
            await self.ledger.reserve(f"last-{name}", name, self.amounts(0))
        self.clock.advance(seconds=self.dice.choice([0, 0, 200]))

    def budget(self, unit):
        more = self.dice.choice([{}, {}, {}, {"enforcement": "observe"}])
        if self.chance(0.2):
            more = {"enforcement": "soft", "overdraft_amount": UNITS[unit]}
        if self.chance(0.2):
            more = {**more, "on_expiry": "charge"}
        if self.is_odd and self.chance(0.2):
            more = {**more, "on_expiry": "release"}
        if self.is_odd and self.chance(0.1):
            more = {**more, "model": "m/1"}
        limit = self.dice.choice([None, 0, 10**7, 10**7, UNITS[unit] * 12])
        return budget(limit=limit, unit=unit, window=self.dice.choice(WINDOWS), **more)

    def amounts(self, most):
        return {unit: int(self.dice.random() * most * UNITS[unit]) for unit in self.units}

    def batch(self):
        items = [self.item(n) for n in range(self.dice.choice([1, 2, 5, 12]))]
        if self.chance(0.2):
            items.append({**self.dice.choice(items), **self.dice.choice([{}, {"ttl_seconds": 9}])})
        if self.chance(0.2):
            self.dice.shuffle(items)
        return items

    def item(self, n):
        who = self.dice.choice(PEOPLE)
        item = {"request_id": f"r{n}", "account_id": who, "amounts": self.amounts(2)}
        if self.chance(0.1):
            item |= {"request_id": f"last-{who}", "amounts": self.amounts(0)}
        if self.chance(0.2):
            item["model"] = "m/1"
        if self.chance(0.3):
            item["amounts"].pop("requests", None)
        if self.is_odd and self.chance(0.2):
            item |= self.dice.choice(ODD)
        return item

    def within(self, count):
        if self.chance(0.7):
            return None
        return [self.dice.choice([None, None, "ann", "team", "org"]) for _ in range(count)]


def rough(answers, rows):
    """Without the figures that depend on which of two that fit came first."""
    told = [
        (n, status, body.get("decision"), body.get("reason"), body.get("state"), body.get("budget"))
        for n, status, _, text, _ in answers
        for body in [json.loads(text)]
    ]
    lines = re.sub(r'"available_after": [-0-9nul]+', "", rows["hold_line"] or "")
    return told, rows["budget_window"], sorted(lines.splitlines())


@pytest.mark.parametrize("seed", range(120))
async def test_answers_and_rows_are_those_of_one_by_one(ledger, clock, seed):
    draw = Draw(ledger, clock, seed)
    await draw.fill()
    for _ in range(6):
        batch = draw.batch()
        within = draw.within(len(batch))
        answers, rows = await outcome(ledger, "reserve", batch, within=within)
        for other in (ONE_BY_ONE, AS_UNUSUAL):
            others, other_rows = await outcome(ledger, "reserve", batch, other, within=within)
            if draw.is_tree and any(row[1] >= 400 for row in others):
                assert rough(answers, rows) == rough(others, other_rows)
            else:
                assert answers == others
                assert rows == other_rows
    await ledger.many("reserve", draw.batch())


@pytest.mark.parametrize("number", range(len(ODD)))
async def test_what_is_odd_is_answered_alike_alone_and_among_others(ledger, clock, number):
    for name in ("ann", "sue", "new"):
        await ledger.grant(name)
    await publish(ledger, rates=rates(input_tokens="1", output_tokens="2"))
    await ledger.put_account("sue", status="suspended")
    for name in ("ann", "sue"):
        await ledger.reserve("first", name, tokens(1))
    plain = {"request_id": "r1", "account_id": "ann", "amounts": tokens(1)}
    odd = {**plain, "request_id": "r2", **ODD[number]}
    for batch in ([odd], [plain, odd], [odd, plain]):
        assert await outcome(ledger, "reserve", batch) == await outcome(
            ledger, "reserve", batch, AS_UNUSUAL
        )


async def is_plain(ledger, batch):
    """Whether it is authorized at once."""
    try:
        await outcome(ledger, "reserve", batch, NOT_ONE_BY_ONE)
    except asyncpg.RaiseError:
        return False
    return True


def items(*accounts, amount=1, **more):
    return [
        {"request_id": f"r{n}", "account_id": account, "amounts": tokens(amount), **more}
        for n, account in enumerate(accounts)
    ]


async def seen(ledger, *accounts, **more):
    for account in accounts:
        await ledger.grant(account, **more)
    for account in accounts:
        await ledger.reserve("first", account, tokens(1))


async def test_what_plainly_fits_is_authorized_at_once(ledger, clock):
    await publish(ledger, rates=rates(input_tokens="1", output_tokens="2"))
    await seen(ledger, "ann", "bob")
    bounds = {"max_usage": {"input_tokens": 1, "output_tokens": 1}, "model": MODEL}
    assert await is_plain(ledger, items("ann", "bob", "ann"))
    assert await is_plain(ledger, items("ann", ttl_seconds=9, session_id="s", labels={"a": "b"}))
    assert await is_plain(ledger, items("ann", **bounds))
    assert not await is_plain(ledger, items("ann", "bob", amount=1000))


async def test_a_lease_is_not_plain(ledger, clock):
    await seen(ledger, "ann", on_expiry="release")
    assert not await is_plain(ledger, items("ann"))


async def test_a_budget_for_one_model_is_not_plain(ledger, clock):
    await ledger.grant("ann", name="small", model="m/1")
    await seen(ledger, "ann", limit=100)
    await ledger.reserve("second", "ann", tokens(1), model="m/1")
    reply = await ledger.reserve("r1", "ann", tokens(1))
    assert [line["budget"] for line in reply["lines"]] == ["cap"]


async def test_an_account_without_budgets_is_not_plain(ledger, clock):
    await seen(ledger, "ann")
    await ledger.call("delete_budget", account_id="ann", name="cap", reason="none")
    await ledger.reserve("second", "ann", tokens(1))
    assert not await is_plain(ledger, items("ann"))


async def test_a_window_that_has_ended_is_not_filled(ledger, clock):
    await seen(ledger, "ann", window=calendar("day"))
    assert await is_plain(ledger, items("ann"))
    clock.advance(days=1)
    assert not await is_plain(ledger, items("ann"))


async def test_a_budget_made_since_is_not_passed_by(ledger, clock):
    await seen(ledger, "ann")
    await ledger.grant("ann", 1, name="small")
    reply = await ledger.reserve("r1", "ann", tokens(2))
    assert (reply["decision"], reply["budget"]) == ("denied", "small")


async def test_each_hold_of_a_batch_has_a_time_of_its_own(ledger, clock):
    await seen(ledger, "ann")
    batch = [*items("ann", ttl_seconds=9), *items("ann", "ann", ttl_seconds=10)[1:]]
    rows = await ledger.many("reserve", batch)
    assert [row.body["expires_at"][17:19] for row in rows] == ["09", "10"]
