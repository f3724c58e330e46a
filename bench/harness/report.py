"""Markdown."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.harness.measure import Results

__all__ = ["Ratio", "heading", "measurements", "ratios", "table"]

FIELDS = {
    "mean ms": "mean_ms",
    "p50 ms": "p50_ms",
    "p99 ms": "p99_ms",
    "WAL bytes each": "wal_bytes",
    "service CPU µs": "server_us",
    "database CPU µs": "store_us",
}


@dataclass(frozen=True)
class Ratio:
    """``upper`` ÷ ``lower``, and what the project asks of it."""

    says: str
    upper: str
    lower: str
    least: float | None = None
    aim: float | None = None
    field: str = "per_second"
    at_most: bool = False
    """The smaller the better."""


def heading(title: str, conditions: str) -> None:
    print(f"\n### {title}\n\n{conditions}\n", flush=True)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """First column to the left, the others to the right."""
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *map(list, rows)]
    print("\n".join(f"| {' | '.join(line)} |" for line in lines), end="\n\n", flush=True)


def measurements(results: Results, what: str = "a second") -> None:
    """A line for each contender: medians of its rounds."""
    fields = {what: "per_second", **FIELDS}
    used = {t: f for t, f in fields.items() if any(results.median(n, f) for n in results.names)}
    rows = [[n, *(_figure(results.median(n, f), f) for f in used.values())] for n in results.names]
    table(["", *used], rows)


def ratios(results: Results, wanted: Sequence[Ratio]) -> None:
    """A line for each ratio: the median of the rounds' ratios, the lowest and the highest."""
    rows = [_row(ratio, results) for ratio in wanted]
    table(["ratio", "median", "rounds", "asked", "aim"], rows)


def _row(ratio: Ratio, results: Results) -> list[str]:
    found = results.ratios(ratio.upper, ratio.lower, ratio.field)
    sign = "≤ " if ratio.at_most else ""
    asked = [f"{sign}{x:g}" if x is not None else "" for x in (ratio.least, ratio.aim)]
    if not found:
        return [ratio.says, "not measured", "", *asked]
    spread = f"{_ratio(min(found))} to {_ratio(max(found))}"
    return [ratio.says, f"**{_ratio(statistics.median(found))}**", spread, *asked]


def _ratio(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _figure(value: float | None, field: str) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if field.endswith("_ms") else f"{value:,.0f}"
