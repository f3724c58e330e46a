"""A sequence told to two ledgers about a tree of accounts: plans, own budgets, moves, alternatives."""

from datetime import datetime, timedelta

from tests.properties.test_time_alone import MILLISECOND, PAUSES, Side, Story
from tests.support.money import calendar, cycle, fixed, rolling, tokens

__all__ = ["OPERATIONS", "TreeSide", "TreeStory"]

WINDOWS = [
    calendar("hour"), calendar("day"), calendar("day"), calendar("month"), cycle("month"),
    fixed(5400), rolling(7200, 6), rolling(60, 6), {"kind": "lifetime"},
]  # fmt: skip
ROLLOVERS = [None, {"max": 50, "overspend": True}, {"max": 300}, {"max": 0, "overspend": True}]
ZONES = ["UTC", "Australia/Lord_Howe", "Pacific/Niue", "Pacific/Kiritimati", "Asia/Tokyo"]
ANCHORS = ["2026-01-31", "2024-02-29", "2020-05-15"]
FAR = (1, 61, 7200, 90_000, 3_000_000, 40_000_000)


class TreeSide(Side):
    """One of the two ledgers."""

    def rows(self, account_id):
        """As told, but that a lapsed lease may still be counted until somebody gives it back."""
        return [(*row[:6], 0, *row[7:]) for row in super().rows(account_id)]


class TreeStory(Story):
    """An organisation, a team in it, two people in the team, and somebody beside them."""

    def begin(self):
        chance = self.chance
        self.kinds = {name: chance.sample(WINDOWS, chance.choice([1, 1, 2])) for name in "mrx"}
        self.units = {"m": "tokens", "r": chance.choice(["tokens", "requests"]), "x": "tokens"}
        self.accounts = [f"{self.account}-{name}" for name in ("org", "team", "ann", "bob", "eve")]
        self.put_plans()
        org, team, *_ = self.accounts
        for account_id, parent_id in zip(self.accounts, (None, org, team, team, None), strict=True):
            body = {"parent_id": parent_id, "time_zone": chance.choice(ZONES)}
            if chance.random() < 0.7:
                body["plan_id"] = chance.choice(self.plans)
            if chance.random() < 0.3:
                body["max_open_holds"] = chance.randint(1, 3)
            self.both("put_account", account_id=account_id, body=body)

    def budget(self, name):
        chance, window = self.chance, self.chance.choice(self.kinds[name])
        counted = [50, 100, 200, None] if self.units[name] == "tokens" else [2, 4]
        enforcement = chance.choice(["hard"] * 5 + ["soft", "observe"])
        return {
            "name": name, "unit": self.units[name], "window": window,
            "limit_amount": chance.choice(counted), "model": "big" if name == "x" else None,
            "thresholds": chance.choice([[], [50], [50, 80]]),
            "on_expiry": chance.choice(["release", "release", "keep"]),
            "overage": chance.choice(["charge", "charge", "reject"]), "enforcement": enforcement,
            "overdraft_amount": 30 if enforcement == "soft" else 0,
            "rollover": chance.choice(ROLLOVERS) if window["kind"] in {"calendar", "cycle", "fixed"} else None,
        }  # fmt: skip

    def budgets(self):
        return [self.budget(n) for n in "mrx" if self.chance.random() < 0.6] or [self.budget("m")]

    def some(self):
        return self.chance.choice(self.accounts)

    def shown(self, side):
        return [side.call("balance", account_id=a, audit=True)["windows"] for a in self.accounts]

    def ending(self):
        ends = [w["ends_at"] for w in self.swept.windows(self.some()) if w["ends_at"]]
        return self.chance.choice(ends) if ends and self.chance.random() < 0.5 else self.later()

    def step(self):
        self.steps += 1
        at = self.now + timedelta(seconds=self.chance.choice(PAUSES))
        if self.chance.random() < 0.2:
            at = max(at, datetime.fromisoformat(self.ending()))
        self.move(at)
        self.swept.sweep()
        name = self.chance.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
        getattr(self, name)()
        first, second = map(self.shown, self.sides)
        assert first == second, (name, self.now)

    def request(self, most):
        asked = {
            "request_id": self._id(),
            "account_id": self.chance.choice(self.accounts[1:]),
            "amounts": tokens(self.chance.randint(1, most)),
        }
        if self.chance.random() < 0.4:
            asked["model"] = self.chance.choice(["big", "small"])
        return asked

    def charge(self):
        self.ask("charge", self.request(120))

    def record(self):
        self.ask("charge", {**self.request(500), "record": True})

    def reserve(self):
        asked = self.request(150)
        if self.chance.random() < 0.3:
            asked["alternatives"] = [
                {
                    "model": self.chance.choice(["big", "small"]),
                    "amounts": tokens(self.chance.randint(1, 100)),
                }
                for _ in range(self.chance.choice([1, 2]))
            ]
        ttl = self.chance.choice([5, 600, 7000, 80_000])
        if self.ask("reserve", {**asked, "ttl_seconds": ttl}) == "authorized":
            self.open.append({name: asked[name] for name in ("request_id", "account_id")})

    def ask(self, call, asked):
        reply = self.both(call, **asked)
        if reply.get("decision") == "denied":
            self.hold_to_all(call, reply, asked)
        return reply.get("decision")

    def hold_to_all(self, call, denial, asked):
        """Also where no budget applies yet, and of charges, which hold nothing open."""
        side, wait = self.chance.choice(self.sides), denial["retry_after_ms"]
        if wait is None:
            far = [self.now + timedelta(seconds=seconds) for seconds in FAR]
            assert "authorized" not in side.decisions_at(far, asked, call), (denial, self.now)
            return
        fits_at = self.now + wait * MILLISECOND
        between = sorted(self.now + (fits_at - self.now) * self.chance.random() for _ in range(3))
        instants = [at for at in between if at < fits_at - MILLISECOND]
        *before, then = side.decisions_at([*instants, fits_at - MILLISECOND, fits_at], asked, call)
        assert then == "authorized", (denial, asked, self.now)
        assert "authorized" not in before[0 if wait > 1 else 1 :], (denial, asked, self.now, before)

    def end_hold(self, call, **more):
        if self.open:
            self.both(call, **self.chance.choice(self.open), **more)

    def settle(self):
        self.end_hold("settle", amounts=tokens(self.chance.randint(0, 160)))

    def unknown(self):
        self.end_hold("settle", outcome="unknown")

    def release(self):
        self.end_hold("release", reason="x")

    def extend(self):
        self.end_hold("extend", ttl_seconds=self.chance.choice([5, 600, 7000]))

    def resolve(self):
        action = self.chance.choice(["settle", "release", "accept_overage"])
        amounts = {"amounts": tokens(self.chance.randint(0, 160))} if action == "settle" else {}
        self.end_hold("resolve", action=action, reason="x", **amounts)

    def switch(self):
        choices = [{"apply": "now"}, {"apply": "next_window"}]
        choices += [{"at": self.later()}, {"at": self.ending()}]
        when = self.chance.choice(choices)
        if when.get("at", "9") > self.now.isoformat():
            body = {"plan_id": self.chance.choice(self.plans), **when}
            self.both("switch_plan", account_id=self.some(), body=body)

    def lift(self):
        body = {"amount": self.chance.randint(1, 100), "expires_at": self.later()}
        name = self.chance.choice("mrx")
        self.both("put_raise", account_id=self.some(), name=name, body=body)

    def drop(self):
        self.both("delete_raise", account_id=self.some(), name=self.chance.choice("mrx"))

    def own(self):
        name, apply = self.chance.choice("mrx"), self.chance.choice(["now", "next_window"])
        body = {**self.budget(name), "apply": apply}
        self.both("put_budget", account_id=self.some(), name=name, body=body)

    def disown(self):
        self.both("delete_budget", account_id=self.some(), name=self.chance.choice("mrx"))

    def put(self):
        chance = self.chance
        kinds = {
            "time_zone": ZONES,
            "cycle_anchor": [*ANCHORS, None],
            "max_open_holds": [None, 1, 2, 3],
            "parent_id": [*self.accounts, None],
            "plan_id": [*self.plans, None],
        }
        field = chance.choice([*kinds, "parent_id"])
        self.both("put_account", account_id=self.some(), body={field: chance.choice(kinds[field])})

    def suspend(self):
        account_id = self.some()
        self.both("put_account", account_id=account_id, body={"status": "suspended"})
        self.charge()
        self.both("put_account", account_id=account_id, body={"status": "active"})

    def correct(self, call, **more):
        body = {"budget": self.chance.choice("mrx"), "reason": "x", **more}
        self.both(call, account_id=self.some(), body=body)

    def adjust(self):
        amount = self.chance.choice([-100, -30, 30])
        self.correct("adjust", amount=amount, idempotency_key=self._id())

    def reset(self):
        self.correct("reset")

    def end(self):
        for side in self.sides:
            side.sweep()
        for account_id in self.accounts:
            assert self.swept.rows(account_id) == self.unswept.rows(account_id), account_id


OPERATIONS = {
    "charge": 25, "reserve": 25, "record": 3, "settle": 10, "unknown": 2, "release": 3, "extend": 3,
    "resolve": 3, "switch": 12, "lift": 7, "drop": 2, "own": 5, "disown": 3, "replan": 4, "put": 6,
    "suspend": 1, "adjust": 4, "reset": 1,
}  # fmt: skip
