"""Property: what time alone changes needs no job, and a denial foresees it.

The same sequence is told to two ledgers: one whose sweeps write down at once what time has done,
one that is never swept. They answer alike, show the same figures, and end in the same state once
both are swept. Each denial's ``retry_after_ms`` is held to what the ledger itself then decides:
denied up to a millisecond before, authorized at that instant; ``null``, denied for ever.
"""

import os
import random
from datetime import datetime, timedelta

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support import databases
from tests.support.clock import Clock
from tests.support.money import calendar, cycle, fixed, rolling

pytestmark = pytest.mark.slow

SEQUENCES = int(os.environ.get("PREAUTH_TEST_SEQUENCES", "28")) // 4
MILLISECOND = timedelta(milliseconds=1)
WINDOWS = [
    calendar("hour"), calendar("day"), calendar("day"), calendar("month"), cycle("month"),
    fixed(5400), rolling(7200, 6), {"kind": "lifetime"},
]  # fmt: skip
PAUSES = [0, 0, 60, 600, 1800, 3600, 7200, 43_200, 86_400, 200_000]
FIGURES = ("decision", "reason", "budget", "required", "available", "limit", "retry_after_ms", "resets_at")  # fmt: skip
ROWS = """
    select b.name, w.window_key, w.starts_at::text, w.ends_at::text, w.limit_amount, preauth._settled_at(w, preauth._now()), w.reserved, w.rolled_over, w.raised, w.raised_until::text
    from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
    where w.account_id = %s order by 1, 3"""


class Side:
    """One of the two ledgers."""

    def __init__(self, url):
        self.connection = psycopg.connect(url, autocommit=True)
        self.clock = Clock(url)

    def close(self):
        self.connection.close()
        self.clock.close()

    def call(self, function, **arguments):
        named = ", ".join(f"{name} => %s" for name in arguments)
        values = [Jsonb(v) if isinstance(v, (dict, list)) else v for v in arguments.values()]
        query = f"select preauth_api.{function}({named})".encode()
        return self.connection.execute(query, values).fetchone()[0]

    def sweep(self):
        while self.call("expire_due", max_count=100) or self.call("apply_due", max_count=100):
            pass

    def windows(self, account_id):
        return self.call("balance", account_id=account_id)["windows"]

    def rows(self, account_id):
        return self.connection.execute(ROWS.encode(), [account_id]).fetchall()

    def decisions_at(self, instants, request, call="reserve"):
        """What real requests would be answered at each instant, one after the other; undone."""
        now, found = self.clock.now, []
        try:
            for n, instant in enumerate(instants):
                self.clock.set(instant)
                with self.connection.transaction(force_rollback=True):
                    if n:  # a request that was denied just before changes nothing
                        self.clock.set(instants[n - 1])
                        self.call(call, **request | {"request_id": "try-before"})
                        self.clock.set(instant)
                    reply = self.call(call, **request | {"request_id": "try"})
                found.append(reply.get("decision", reply.get("type")))
        finally:
            self.clock.set(now)
        return found


class Story:
    """One sequence, drawn as it is told. No hold is charged by a sweep: until then it is held."""

    def __init__(self, seed, sides):
        self.chance = random.Random(seed)
        self.swept, self.unswept = self.sides = sides
        self.account, self.steps, self.open = f"s{seed}", 0, []
        self.now = self.swept.clock.now + timedelta(seconds=self.chance.randrange(4_000_000))
        self.kinds = [self.chance.choice(WINDOWS) for _ in range(2)]
        self.carry = self.chance.random() < 0.7
        self.move(self.now)
        self.plans = [f"{self.account}p{n}" for n in range(3)]
        self.begin()

    def put_plans(self):
        for plan in self.plans:
            self.both("put_plan", plan_id=plan, body={"budgets": self.budgets()})

    def begin(self):
        self.put_plans()
        self.both(
            "put_account",
            account_id=self.account,
            body={
                "plan_id": self.plans[0],
                "time_zone": self.chance.choice(["UTC", "Australia/Lord_Howe"]),
            },
        )

    def move(self, at):
        self.now = at
        for side in self.sides:
            side.clock.set(at)

    def both(self, function, **arguments):
        first, second = (side.call(function, **arguments) for side in self.sides)
        assert _other(_figures(first), _figures(second)) == {}, (function, arguments, self.now)
        return second

    def budget(self, name):
        window = self.kinds["mr".index(name)]
        carries = self.carry and window["kind"] in {"calendar", "cycle", "fixed"}
        rollover = [
            None,
            {"max": 50, "overspend": True},
            {"max": 300},
            {"max": 0, "overspend": True},
        ]
        return {
            "name": name, "unit": "tokens", "window": window,
            "limit_amount": self.chance.choice([50, 100, 200]),
            "thresholds": self.chance.choice([[], [50], [50, 80]]),
            "on_expiry": self.chance.choice(["release", "release", "keep"]),
            "rollover": self.chance.choice(rollover) if carries else None,
        }  # fmt: skip

    def budgets(self):
        return [self.budget(n) for n in "mr" if self.chance.random() < 0.85] or [self.budget("m")]

    def later(self):
        pause = self.chance.choice([60, 1800, 3600, 7200, 43_200, 100_000, 3_000_000])
        return (self.now + timedelta(seconds=pause)).isoformat()

    def ending(self):
        """Now and then the very instant at which a window ends."""
        ends = [w["ends_at"] for w in self.swept.windows(self.account) if w["ends_at"]]
        return self.chance.choice(ends) if ends and self.chance.random() < 0.5 else self.later()

    def step(self):
        self.steps += 1
        pause = timedelta(seconds=self.chance.choice(PAUSES))
        at = self.now + pause
        if self.chance.random() < 0.2:
            at = max(at, datetime.fromisoformat(self.ending()))
        self.move(at)
        self.swept.sweep()
        name = self.chance.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
        getattr(self, name)()
        shown = [side.windows(self.account) for side in self.sides]
        assert shown[0] == shown[1], (name, self.now)

    def _id(self):
        return f"{self.account}-{self.steps}"

    def charge(self, **more):
        self._spend("charge", self.chance.randint(1, 120), **more)

    def record(self):
        self._spend("charge", self.chance.randint(1, 500), record=True)

    def reserve(self):
        if (
            self._spend(
                "reserve",
                self.chance.randint(1, 150),
                ttl_seconds=self.chance.choice([5, 600, 7000, 80_000]),
            )
            == "authorized"
        ):
            self.open.append(self._id())

    def _spend(self, call, amount, **more):
        request = {
            "request_id": self._id(),
            "account_id": self.account,
            "amounts": {"tokens": amount},
        }
        reply = self.both(call, **request, **more)
        if reply.get("decision") == "denied" and "retry_after_ms" in reply:
            self.hold_to(reply, request)
        return reply.get("decision")

    def hold_to(self, denial, request):
        side = self.chance.choice(self.sides)
        wait = denial["retry_after_ms"]
        if wait is None:
            far = [
                self.now + timedelta(seconds=s) for s in (1, 7200, 90_000, 3_000_000, 40_000_000)
            ]
            assert "authorized" not in side.decisions_at(far, request), (denial, self.now)
            return
        fits_at = self.now + wait * MILLISECOND
        between = sorted(self.now + (fits_at - self.now) * self.chance.random() for _ in range(3))
        instants = [at for at in between if at < fits_at - MILLISECOND] + [
            fits_at - MILLISECOND,
            fits_at,
        ]
        *before, then = side.decisions_at(instants, request)
        assert then == "authorized", (denial, self.now, fits_at)
        assert "authorized" not in before[0 if wait > 1 else 1 :], (
            denial,
            self.now,
            instants,
            before,
        )

    def settle(self):
        if self.open:
            request_id = self.open.pop(self.chance.randrange(len(self.open)))
            self.both(
                "settle", request_id=request_id, amounts={"tokens": self.chance.randint(0, 160)}
            )

    def switch(self):
        when = self.chance.choice(
            [
                {"apply": "now"},
                {"apply": "next_window"},
                {"at": self.later()},
                {"at": self.ending()},
            ]
        )
        if when.get("at", "9") > self.now.isoformat():
            self.both(
                "switch_plan",
                account_id=self.account,
                body={"plan_id": self.chance.choice(self.plans), **when},
            )

    def lift(self):
        body = {"amount": self.chance.randint(1, 100), "expires_at": self.later()}
        self.both("put_raise", account_id=self.account, name=self.chance.choice("mr"), body=body)

    def drop(self):
        self.both("delete_raise", account_id=self.account, name=self.chance.choice("mr"))

    def own(self):
        name = self.chance.choice("mr")
        body = {k: v for k, v in self.budget(name).items() if k != "name"}
        self.both("put_budget", account_id=self.account, name=name, body=body)

    def disown(self):
        self.both("delete_budget", account_id=self.account, name=self.chance.choice("mr"))

    def replan(self):
        body = {"budgets": self.budgets(), "apply": self.chance.choice(["now", "next_window"])}
        self.both("put_plan", plan_id=self.chance.choice(self.plans), body=body)

    def zone(self):
        body = {
            "time_zone": self.chance.choice(
                ["UTC", "Pacific/Niue", "Asia/Tokyo", "Australia/Lord_Howe"]
            )
        }
        self.both("put_account", account_id=self.account, body=body)

    def adjust(self):
        body = {
            "budget": self.chance.choice("mr"),
            "amount": self.chance.choice([-30, 30]),
            "reason": "x",
        }
        self.both("adjust", account_id=self.account, body=body | {"idempotency_key": self._id()})

    def end(self):
        for side in self.sides:
            side.sweep()
        assert self.swept.rows(self.account) == self.unswept.rows(self.account)


OPERATIONS = {
    "charge": 30, "reserve": 20, "record": 5, "settle": 10, "switch": 14, "lift": 8, "drop": 3,
    "own": 4, "disown": 2, "replan": 3, "zone": 2, "adjust": 4,
}  # fmt: skip


def _other(swept, unswept):
    if not isinstance(swept, dict):
        return {} if swept == unswept else {"reply": (swept, unswept)}
    return {n: (swept[n], unswept[n]) for n in swept if swept[n] != unswept[n]}


def _figures(reply):
    if not isinstance(reply, dict):
        return reply
    return {name: reply.get(name) for name in FIGURES} | {"type": reply.get("type")}


@pytest.fixture
def sides(database_url, cluster):
    with databases.temporary(
        cluster, databases.template(cluster, databases.DEFAULT_SCHEMA)
    ) as other:
        pair = Side(database_url), Side(other)
        yield pair
        for side in pair:
            side.close()
        assert databases.mismatches(other) == []


@pytest.mark.parametrize("part", range(4))
def test_a_ledger_that_is_never_swept_decides_alike_and_denials_foresee(sides, part):
    for seed in range(part * SEQUENCES, (part + 1) * SEQUENCES):
        story = Story(seed, sides)
        try:
            for _ in range(25):
                story.step()
            story.end()
        except AssertionError as error:
            raise AssertionError(f"sequence {seed}, step {story.steps}: {error}") from error
