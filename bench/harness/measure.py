"""Interleaved rounds, so that what disturbs the machine disturbs every contender alike."""

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.harness.options import Options

__all__ = ["Contender", "Results", "Sample", "interleave", "say"]


@dataclass(frozen=True)
class Sample:
    """What one trial gave."""

    per_second: float
    mean_ms: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    wal_bytes: float | None = None
    """Write-ahead log for each of what is counted."""
    server_us: float | None = None
    store_us: float | None = None
    """Processor time for each: of the service and of the database behind it."""


@dataclass(frozen=True)
class Contender:
    """Something to measure: ``run(seconds)`` is one trial."""

    name: str
    run: Callable[[int], Sample]


class Results:
    """Samples by contender, one of each a round."""

    def __init__(self) -> None:
        self._samples: dict[str, list[Sample]] = {}

    def add(self, name: str, sample: Sample) -> None:
        self._samples.setdefault(name, []).append(sample)

    @property
    def names(self) -> list[str]:
        return list(self._samples)

    def median(self, name: str, field: str = "per_second") -> float | None:
        """None where it was not measured."""
        values = self._values(name, field)
        return statistics.median(values) if values else None

    def ratios(self, upper: str, lower: str, field: str = "per_second") -> list[float]:
        """Round by round; empty where one of them was not measured."""
        pairs = zip(self._values(upper, field), self._values(lower, field), strict=False)
        return [a / b for a, b in pairs if b]

    def _values(self, name: str, field: str) -> list[float]:
        found = (getattr(sample, field) for sample in self._samples.get(name, []))
        return [value for value in found if value is not None]


def interleave(contenders: Sequence[Contender], options: Options, *, warm_up: int = 1) -> Results:
    """A B C, A B C, ...; before that each once, shortly, uncounted."""
    results = Results()
    for contender in contenders if warm_up else ():
        say(f"warming up: {contender.name}")
        contender.run(warm_up)
    for number in range(1, options.rounds + 1):
        for contender in contenders:
            sample = contender.run(options.seconds)
            say(f"round {number}: {contender.name}: {sample.per_second:,.0f}/s")
            results.add(contender.name, sample)
    return results


def say(what: str) -> None:
    """Progress, for the person who waits; the tables alone go to standard output."""
    print(what, file=sys.stderr, flush=True)
