"""For any table and any usage: the cost is the exact rational rounded up once, the ceiling covers it."""

import random
from fractions import Fraction
from math import ceil

import pytest

from tests.support.money import Json
from tests.support.prices import MODEL, exact, publish, tier

INPUT = (
    "input_tokens", "cached_input_tokens", "cache_write_tokens", "cache_write_1h_tokens",
    "input_audio_tokens", "input_image_tokens",
)  # fmt: skip
COMPLETION = ("output_tokens", "reasoning_tokens")
OTHERS = ("output_audio_tokens", "web_searches", "images", "requests")
PERS = (1, 3, 7, 60, 1000, 1_000_000, 10**9, 9_999_991)
USAGES = 25


class Case:
    """One random table, and random usages with bounds that cover them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        chosen = [d for d in (*INPUT, *COMPLETION, *OTHERS) if self.random.random() < 0.6]
        self.dimensions = chosen or ["input_tokens"]
        thresholds = sorted(self.random.sample(range(1, 60), self.random.choice((0, 0, 1, 3))))
        self.tiers = [tier(above, self.rates()) for above in (0, *thresholds)]

    def rates(self) -> Json:
        return {
            dimension: {
                "micro_usd": self.random.choice((0, 1, 999, self.random.randrange(10**9))),
                "per": self.random.choice(PERS),
                "required": False,
            }
            for dimension in self.dimensions
        }

    def usage(self) -> dict[str, int]:
        chosen = [d for d in self.dimensions if self.random.random() < 0.7] or self.dimensions[:1]
        return {dimension: self.random.choice((0, 1, self.random.randrange(40))) for dimension in chosen}  # fmt: skip

    def bounds(self, usage: dict[str, int]) -> dict[str, int]:
        """Bounds that cover the usage: by name, or as of any kind, or some of each."""
        bounds: dict[str, int] = {}
        for dimension, count in usage.items():
            name = dimension
            if dimension in INPUT and self.random.random() < 0.5:
                name = "prompt_tokens"
            elif dimension in COMPLETION and self.random.random() < 0.5:
                name = "completion_tokens"
            bounds[name] = bounds.get(name, 0) + count + self.random.choice((0, 0, 1, 25))
        return bounds

    def exact(self, usage: dict[str, int]) -> Fraction:
        total = sum(count for dimension, count in usage.items() if dimension in INPUT)
        table = [t["rates"] for t in self.tiers if total > t["above_input_tokens"]]
        counted = {"requests": 1, **usage} if "requests" in self.dimensions else usage
        return exact(counted, table[-1] if table else self.tiers[0]["rates"])


@pytest.mark.parametrize("seed", range(24))
async def test_the_cost_is_exact_and_the_ceiling_covers_it(ledger, seed):
    case = Case(seed)
    await ledger.grant("ann", None, unit="usd_nano", overage="reject")
    await publish(ledger, tiers=case.tiers)
    usages = [case.usage() for _ in range(USAGES)]
    item = {"account_id": "ann", "model": MODEL}
    held = await ledger.many(
        "reserve",
        [
            {**item, "request_id": f"r{n}", "max_usage": case.bounds(u)}
            for n, u in enumerate(usages)
        ],
    )
    settled = await ledger.many(
        "settle", [{"request_id": f"r{n}", "usage": usage} for n, usage in enumerate(usages)]
    )
    for usage, hold, settlement in zip(usages, held, settled, strict=True):
        cost = settlement.body["amounts"]["usd_nano"]
        assert cost == ceil(case.exact(usage)), (usage, case.tiers)
        assert hold.body["lines"][0]["amount"] >= cost, (usage, case.tiers)
        assert settlement.body["overage"] == {}
        assert sum(settlement.body["cost"]["usd_nano"].values()) == cost
