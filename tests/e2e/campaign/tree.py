"""The accounts of one round: users of teams of one root, all with hard limits that are soon met."""

from dataclasses import dataclass
from math import ceil

from tests.support.money import Json
from tests.support.prices import CHAT, MODEL, exact
from tests.support.session import Session

__all__ = ["LIMITS", "Tree", "Window", "amounts_of", "prepare_plans"]

Window = tuple[str, str]
"""(the account that owns it, unit)"""

TEAMS, USERS_OF_A_TEAM = 4, 5

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
            await session.put_account(user, plan_id="user", parent_id=user.rpartition(".")[0])


async def prepare_plans(session: Session) -> None:
    """Once for all rounds: the plans, and what `MODEL` costs."""
    for plan, limits in LIMITS.items():
        await session.put_plan(plan, *(_budget(unit, limit) for unit, limit in limits.items()))
    table = await session.call("publish_price_table", body={"model": MODEL, "rates": CHAT})
    assert "price_table_id" in table, table


def _budget(unit: str, limit: int) -> Json:
    return {
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
