"""The figures of a campaign, for people."""

from collections import Counter
from collections.abc import Iterator, Mapping

from tests.e2e.campaign.faults import KILLS_AND_CUTS
from tests.e2e.campaign.log import Figures
from tests.e2e.campaign.stage import Stage

__all__ = ["report"]

MOST_SHOWN = 20
MOST_CHARACTERS = 1500
SUMMARY = (
    "operations",
    "acknowledged decisions checked",
    "histories checked",
    "calls in histories",
    "histories undecided",
    "windows recounted",
    "looks at windows",
    "left to time",
    "settled late",
)
VERDICTS = ("mismatches", "lost", "over-admissions", "not linearizable", "deadlocks")


def report(figures: Figures, stage: Stage, seconds: float) -> Iterator[str]:
    """Line by line."""
    counts = figures.counts
    kills = sum(figures.faults[name] for name in KILLS_AND_CUTS)
    yield f"{seconds:.0f} s"
    yield from _table("figures", {name: counts[name] for name in SUMMARY})
    yield from _table("faults made", {**figures.faults, "(kills and cuts in all)": kills})
    yield from _table("by the proxies", sum((_did(p) for p in stage.proxies), Counter()))
    yield from _table("sent again after", figures.no_answers)
    yield from _table("answers", figures.answers)
    yield from _table("verdict", {name: counts[name] for name in VERDICTS})
    for what in sorted(figures.mismatches, key=lambda what: what.startswith("mism"))[:MOST_SHOWN]:
        yield f"MISMATCH {what[:MOST_CHARACTERS]}"


def _did(proxy) -> Counter[str]:
    return Counter({f"{what.replace('_', ' ')}, {proxy.name}": n for what, n in proxy.did.items()})


def _table(title: str, rows: Mapping[str, int]) -> Iterator[str]:
    yield f"{title}:"
    for name, count in sorted(rows.items()):
        yield f"  {name:<48} {count:>9,}"
