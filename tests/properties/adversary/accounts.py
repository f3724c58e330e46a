"""Plans, own budgets, raises and moves: which budgets count for whom, on top of the naive ledger."""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from tests.properties.model import Account, Budget, Window

__all__ = ["Definition", "Plan", "Purse", "Spender"]


@dataclass(eq=False)
class Definition:
    """What a plan or an account says of a budget."""

    name: str
    unit: str
    policy: dict[str, Any]
    limit: int | None
    enforcement: str
    overdraft: int
    overage: str
    on_expiry: str

    @property
    def counts(self) -> tuple[str, str, str]:
        """Two that are equal in this count alike."""
        return self.name, self.unit, repr(sorted(self.policy.items()))


@dataclass(eq=False)
class Plan:
    """A plan with its budgets."""

    name: str
    budgets: list[Definition]


@dataclass(eq=False)
class Purse(Budget):
    """All windows of one account that count alike, whoever's budget counts on them."""

    overage: str = "charge"
    definition: Definition | None = None
    raised: tuple[int, datetime] | None = None

    @classmethod
    def of(cls, d: Definition) -> "Purse":
        return cls(
            d.name, d.unit, d.policy, d.limit, d.enforcement, d.overdraft, d.on_expiry, [], overage=d.overage
        )  # fmt: skip

    def asks(self, amount: Any) -> int:
        """Of amounts by unit."""
        return 1 if self.unit == "requests" else int(amount[self.unit])

    def more(self, at: datetime) -> int:
        """What a raise adds."""
        return self.raised[0] if self.raised and self.raised[1] > at else 0

    def limit_at(self, window: Window, at: datetime) -> int | None:
        return None if window.limit is None else window.limit + self.more(at)

    def covers(self, window: Window, wanted: int, at: datetime) -> bool:
        taken = self.settled(window, at) + window.reserved(at)
        return wanted == 0 or taken + wanted <= self.capacity(self.limit_at(window, at))

    def take(self, definition: Definition, apply: str, at: datetime) -> None:
        """Another budget counts here from now on."""
        if self.definition is definition:
            return
        self.definition, self.limit = definition, definition.limit
        if apply == "now":
            self.give_limit(at)

    def give_limit(self, at: datetime) -> None:
        """The current window gets the budget's limit."""
        window = self.current(at)
        if window is not None:
            window.limit = self.limit

    def new_limit(self, apply: str, at: datetime) -> None:
        assert self.definition is not None
        self.limit = self.definition.limit
        if apply == "now":
            self.give_limit(at)


@dataclass(eq=False)
class Spender(Account):
    """An account with a plan and budgets of its own; ``budgets`` are the purses that count now."""

    plan: Plan | None = None
    own: dict[str, Definition] = field(default_factory=dict)
    shelf: dict[tuple[str, str, str], Definition] = field(default_factory=dict)
    purses: dict[tuple[str, str, str], Purse] = field(default_factory=dict)
    raises: dict[tuple[str, str], tuple[int, datetime]] = field(default_factory=dict)
    suspended: bool = False
    scheduled: tuple[Plan, datetime] | None = None

    @classmethod
    def named(cls, name: str) -> "Spender":
        return cls(name, "UTC", date(2014, 1, 1), [])

    def applying(self) -> list[Definition]:
        of_plan = [d for d in (self.plan.budgets if self.plan else []) if d.name not in self.own]
        return [*self.own.values(), *of_plan]

    def refresh(self, apply: str, at: datetime) -> None:
        """After any change of plans or budgets: each that applies counts on its purse."""
        self.budgets = []
        for definition in self.applying():
            purse = self.purses.setdefault(definition.counts, Purse.of(definition))
            purse.take(definition, apply, at)
            self.budgets.append(purse)
        for purse in self.purses.values():
            purse.raised = self.raises.get((purse.name, purse.unit))

    def is_suspended(self) -> bool:
        return any(account.suspended for account in self.path())  # type: ignore[attr-defined]

    def touch(self, at: datetime) -> None:
        """Whoever asks, be it again, finds the windows made, but for those that begin with a spend."""
        for holder in self.path():
            for budget in holder.budgets:
                if budget.policy["kind"] != "fixed":
                    holder.window(budget, at)
