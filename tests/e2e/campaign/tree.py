"""The accounts of one round: users of teams of one root, all with hard limits that are soon met."""

from dataclasses import dataclass
from math import ceil

from tests.support.money import Json
from tests.support.prices import CHAT, MODEL, exact
from tests.support.session import Session

__all__ = ["LIMITS", "Tree", "Window", "amounts_of", "prepare_plans"]

Window = tuple[str, str]
"""(the account that owns it, unit)"""

TEAMS, USERS_OF_A_TEAM, KEEPERS_OF_A_TEAM = 4, 5, 2

OF_A_USER = 2
"""Dots in its name."""

USD, TOKENS = 1_000_000, 1_000
"""What a request asks for on the average."""

LIMITS: dict[str, dict[str, int]] = {
    "user": {"usd_nano": 6 * USD, "tokens": 6 * TOKENS, "requests": 10**9},
    "team": {"tokens": 24 * TOKENS},
    "root": {"usd_nano": 80 * USD},
}


@dataclass(frozen=True)
class Tree:
    """The accounts of round ``number``."""

    number: int

    @property
    def root(self) -> str:
        return f"round-{self.number}"

    @property
    def teams(self) -> list[str]:
        return [f"{self.root}.team-{n}" for n in range(TEAMS)]

    @property
    def users(self) -> list[str]:
        return [f"{team}.user-{n}" for team in self.teams for n in range(USERS_OF_A_TEAM)]

    @staticmethod
    def plan(user: str) -> str:
        """Whether its own windows keep what has expired. Those above it give it back."""
        return "keeper" if int(user[-1]) < KEEPERS_OF_A_TEAM else "user"

    @classmethod
    def is_lease(cls, window: Window) -> bool:
        """Whether what is held on it lapses."""
        owner, _ = window
        return owner.count(".") < OF_A_USER or cls.plan(owner) == "user"

    def windows(self, user: str, amounts: dict[str, int]) -> dict[Window, int]:
        """What a user's amounts are on each window that counts them."""
        found = {}
        for owner, kind in ((user, "user"), (user.rpartition(".")[0], "team"), (self.root, "root")):
            for unit in LIMITS[kind]:
                if unit in amounts:
                    found[owner, unit] = amounts[unit]
        return found

    @staticmethod
    def limit(window: Window) -> int:
        owner, unit = window
        return LIMITS[("root", "team", "user")[owner.count(".")]][unit]

    async def plant(self, session: Session) -> None:
        await session.put_account(self.root, plan_id="root")
        for team in self.teams:
            await session.put_account(team, plan_id="team", parent_id=self.root)
        for user in self.users:
            await session.put_account(
                user, plan_id=self.plan(user), parent_id=user.rpartition(".")[0]
            )


async def prepare_plans(session: Session) -> None:
    """Once for all rounds: the plans, and what `MODEL` costs."""
    for kind, limits in LIMITS.items():
        await _put_plan(session, kind, limits, "release")
    await _put_plan(session, "keeper", LIMITS["user"], "keep")
    table = await session.call("publish_price_table", body={"model": MODEL, "rates": CHAT})
    assert "price_table_id" in table, table


async def _put_plan(session: Session, plan: str, limits: dict[str, int], on_expiry: str) -> None:
    budgets = (_budget(unit, limit, on_expiry) for unit, limit in limits.items())
    await session.put_plan(plan, *budgets)


def _budget(unit: str, limit: int, on_expiry: str) -> Json:
    return {
        "on_expiry": on_expiry,
        "name": unit.replace("_", "-"),
        "unit": unit,
        "window": {"kind": "lifetime"},
        "limit_amount": limit,
        "overage": "reject",
    }


def amounts_of(asked: Json) -> dict[str, int]:
    """What a body asks for or spends, by unit: a price is worked out here once more."""
    counts = asked.get("max_usage") or asked.get("usage")
    if counts is None:
        return {**asked["amounts"], "requests": 1}
    return {"usd_nano": ceil(exact(counts, CHAT)), "tokens": sum(counts.values()), "requests": 1}
