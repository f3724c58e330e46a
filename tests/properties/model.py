"""A naive ledger: lists of lines and events, every figure summed anew whenever it is asked for."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from math import ceil
from typing import Any, Self

from tests.properties.periods import Period, ages_at, period_at

__all__ = ["Account", "Budget", "Denied", "Line", "Model", "Reservation", "Window"]

MILLISECOND = timedelta(milliseconds=1)
ENDLESS = {"lifetime", "rolling"}
STRICTEST = ("keep", "charge", "release")


@dataclass(eq=False)
class Line:
    """What one reservation holds, or has spent, on one window."""

    budget: "Budget"
    window: "Window"
    held: int
    lapses_at: datetime | None
    state: str = "held"


@dataclass(eq=False)
class Spend:
    """Settled on a window at an instant; a correction may have taken from it since."""

    at: datetime
    amount: int


@dataclass(eq=False)
class Window:
    """One window that was made, with all that ever happened on it."""

    period: Period | None
    limit: int | None
    lines: list[Line] = field(default_factory=list)
    spends: list[Spend] = field(default_factory=list)
    told: list[tuple[int, datetime]] = field(default_factory=list)

    @property
    def ends_at(self) -> datetime | None:
        return self.period.ends_at if self.period else None

    def contains(self, at: datetime) -> bool:
        return self.period is None or self.period.starts_at <= at < self.period.ends_at

    def reserved(self, at: datetime) -> int:
        return sum(
            line.held
            for line in self.lines
            if line.state == "held" and (line.lapses_at is None or line.lapses_at > at)
        )


@dataclass(eq=False)
class Budget:
    """One budget of one account."""

    name: str
    unit: str
    policy: dict[str, Any]
    limit: int | None
    enforcement: str
    overdraft: int
    on_expiry: str
    thresholds: list[int]
    windows: list[Window] = field(default_factory=list)

    def asks(self, amount: int) -> int:
        return amount if self.unit == "tokens" else 1

    def capacity(self, limit: int | None) -> float:
        if limit is None or self.enforcement == "observe":
            return 2 * 10**18
        return limit + self.overdraft

    def settled(self, window: Window, at: datetime) -> int:
        """What counts at an instant: of a rolling window, what has not aged out."""
        return sum(s.amount for s in window.spends if self.counts(s, at))

    def counts(self, spend: Spend, at: datetime) -> bool:
        return self.policy["kind"] != "rolling" or ages_at(self.policy, spend.at) > at

    def current(self, at: datetime) -> Window | None:
        return next((w for w in reversed(self.windows) if w.contains(at)), None)

    def turns(self, window: Window) -> list[datetime]:
        """The instants at which time alone may change what the window can cover."""
        found = [line.lapses_at for line in window.lines if line.lapses_at]
        if window.ends_at:
            found.append(window.ends_at)
        if self.policy["kind"] == "rolling":
            found += [ages_at(self.policy, s.at) for s in window.spends]
        return found

    def covers(self, window: Window, wanted: int, at: datetime) -> bool:
        """Whether it could at an instant, if nothing else is spent until then."""
        if wanted == 0:
            return True
        if window.ends_at and window.ends_at <= at:
            return wanted <= self.capacity(self.limit)
        taken = self.settled(window, at) + window.reserved(at)
        return taken + wanted <= self.capacity(window.limit)

    def correct(self, window: Window, amount: int, at: datetime) -> None:
        """A credit takes from the eldest slices; what is left over is a spend below nothing."""
        if amount < 0 and self.policy["kind"] == "rolling":
            for slice_end in sorted({ages_at(self.policy, s.at) for s in window.spends}):
                spends = [
                    s for s in window.spends
                    if ages_at(self.policy, s.at) == slice_end and self.counts(s, at)
                ]  # fmt: skip
                taken = min(max(sum(s.amount for s in spends), 0), -amount)
                if taken:
                    window.spends.append(Spend(spends[0].at, -taken))
                    amount += taken
        if amount:
            window.spends.append(Spend(at, amount))

    def reached(self, window: Window, at: datetime) -> list[int]:
        """The thresholds to be told now."""
        if window.limit is None:
            return []
        level = self.settled(window, at)
        due = [
            t for t in self.thresholds
            if level > 0 and level * 100 >= t * window.limit and not self.was_told(window, t, at)
        ]  # fmt: skip
        window.told += [(t, at) for t in due]
        return due

    def was_told(self, window: Window, threshold: int, at: datetime) -> bool:
        period = timedelta(seconds=self.policy.get("seconds", 0))
        return any(
            t == threshold and (self.policy["kind"] != "rolling" or then + period > at)
            for t, then in window.told
        )


@dataclass(eq=False)
class Account:
    """An account with budgets of its own."""

    name: str
    zone: str
    anchor: date
    budgets: list[Budget]
    parent: Self | None = None

    def path(self) -> list["Account"]:
        return [self, *(self.parent.path() if self.parent else [])]

    def next_period(self, budget: Budget, at: datetime) -> Period | None:
        """The period of the window that a first spend would make."""
        policy = budget.policy
        if policy["kind"] in ENDLESS:
            return None
        if policy["kind"] == "fixed":
            return Period(at, at, at + timedelta(seconds=policy["seconds"]))
        period = period_at(policy, self.anchor, self.zone, at)
        starts_at = period.starts_at
        before = [w.period for w in budget.windows if w.period and w.period.starts_at <= at]
        while any(p.nominal == period.nominal for p in before):  # none is given twice
            period = period_at(policy, self.anchor, self.zone, period.ends_at)
        return period._replace(starts_at=max([starts_at, *(p.ends_at for p in before)]))

    def window(self, budget: Budget, at: datetime) -> Window:
        """The current window, made if need be."""
        window = budget.current(at)
        if window is None:
            window = Window(self.next_period(budget, at), budget.limit)
            budget.windows.append(window)
        return window


@dataclass(eq=False)
class Denied:
    """A denial, with what proves it."""

    reason: str
    account: Account
    budget: Budget
    window: Window
    required: int
    available: int | None
    retry_after_ms: int | None


@dataclass(eq=False)
class Reservation:
    """A decision that authorized."""

    account: Account
    amount: int
    lines: list[Line]
    expires_at: datetime | None
    state: str = "open"

    @property
    def on_expiry(self) -> str:
        return min((line.budget.on_expiry for line in self.lines), key=STRICTEST.index)

    def is_due(self, at: datetime) -> bool:
        return self.state == "open" and self.expires_at is not None and self.expires_at <= at


class Model:
    """All accounts, all reservations, and what the outbox must say."""

    def __init__(self, accounts: list[Account]) -> None:
        self.accounts = accounts
        self.reservations: list[Reservation] = []
        self.outbox: list[tuple[str, str, int]] = []

    def decide(
        self, account: Account, amount: int, at: datetime, ttl: int | None
    ) -> Reservation | Denied:
        """Reserve (with a time to live) or charge (without)."""
        unstarted = [
            budget
            for holder in account.path()
            for budget in holder.budgets
            if budget.policy["kind"] == "fixed" and budget.current(at) is None
        ]
        asked = [
            (holder, budget, holder.window(budget, at), budget.asks(amount))
            for holder in account.path()
            for budget in sorted(holder.budgets, key=lambda b: b.name)
        ]
        for holder, budget, window, wanted in asked:
            if not budget.covers(window, wanted, at):
                denied = self._denied(asked, holder, budget, window, wanted, at)
                for other in unstarted:  # from the first spend, not from a denial
                    other.windows.pop()
                return denied
        expires_at = at + timedelta(seconds=ttl) if ttl else None
        lines = [
            Line(budget, window, wanted, expires_at if budget.on_expiry == "release" else None)
            for _, budget, window, wanted in asked
        ]
        for line in lines:
            line.window.lines.append(line)
        reservation = Reservation(account, amount, lines, expires_at)
        self.reservations.append(reservation)
        if ttl is None:
            self._spend(reservation, amount, at)
        return reservation

    def _denied(
        self, asked: list[Any], holder: Account, budget: Budget, window: Window, wanted: int, at: datetime
    ) -> Denied:  # fmt: skip
        ever = budget.capacity(window.limit) - min(budget.settled(window, at), 0)
        if window.ends_at:
            ever = max(ever, budget.capacity(budget.limit))
        fits = [
            turn
            for turn in sorted({t for _, b, w, _ in asked for t in b.turns(w) if t > at})
            if all(b.covers(w, n, turn) for _, b, w, n in asked)
        ]
        taken = budget.settled(window, at) + window.reserved(at)
        return Denied(
            "exceeds_limit" if wanted > ever else "budget_exhausted",
            holder, budget, window, wanted,
            None if window.limit is None else window.limit - taken,
            ceil((fits[0] - at) / MILLISECOND) if fits else None,
        )  # fmt: skip

    def settle(self, reservation: Reservation, amount: int, at: datetime) -> str:
        """The code of a refusal, or how it was settled."""
        if reservation.is_due(at) and reservation.on_expiry == "charge":
            self._expire(reservation, at)
        if reservation.state == "settled":
            if reservation.expires_at is None:
                return "already_settled"
            return "replayed" if reservation.amount == amount else "settlement_conflict"
        self._spend(reservation, amount, at)
        return "settled"

    def _spend(self, reservation: Reservation, amount: int, at: datetime) -> None:
        for line in reservation.lines:
            self._charge(line, line.budget.asks(amount), at)
        reservation.state, reservation.amount = "settled", amount

    def _charge(self, line: Line, amount: int, at: datetime) -> None:
        line.state = "settled"
        if amount:
            line.window.spends.append(Spend(at, amount))
            self.tell(line.budget, line.window, at)

    def release(self, reservation: Reservation, at: datetime) -> str:
        if reservation.state == "settled":
            return "already_settled"
        if reservation.state == "released":
            return "replayed"
        if reservation.is_due(at) or reservation.state == "lapsed":
            if reservation.on_expiry == "charge":
                return "already_settled"
            if reservation.on_expiry == "release":
                return "hold_lapsed"
        for line in reservation.lines:
            line.state = "released"
        reservation.state = "released"
        return "released"

    def sweep(self, at: datetime) -> int:
        due = [r for r in self.reservations if r.is_due(at)]
        for reservation in due:
            self._expire(reservation, at)
        return len(due)

    def _expire(self, reservation: Reservation, at: datetime) -> None:
        policy = reservation.on_expiry
        for line in reservation.lines:
            if policy == "charge":
                self._charge(line, line.held, at)
            elif line.lapses_at is not None:
                line.state = "lapsed"
        reservation.state = {"keep": "unknown", "charge": "settled", "release": "lapsed"}[policy]

    def change_limit(self, budget: Budget, limit: int | None, apply: str, at: datetime) -> None:
        budget.limit = limit
        window = budget.current(at)
        if apply == "now" and window and window.limit != limit:
            window.limit = limit
            self.tell(budget, window, at)

    def adjust(self, budget: Budget, window: Window, amount: int, at: datetime) -> None:
        budget.correct(window, amount, at)
        self.tell(budget, window, at)

    def tell(self, budget: Budget, window: Window, at: datetime) -> None:
        holder = next(a for a in self.accounts if budget in a.budgets)
        self.outbox += [(holder.name, budget.name, t) for t in budget.reached(window, at)]
