"""Callers in this process: each makes its next call when it has the answer to its last."""

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable
from time import perf_counter

from bench.harness.measure import Sample

__all__ = ["Step", "run"]

Step = Callable[[str], Awaitable[None]]
"""What a caller does again and again; it is given an id that nobody else has."""

_numbers = itertools.count()


async def run(step: Step, callers: int, seconds: float) -> Sample:
    """One trial."""
    took: list[float] = []
    started = perf_counter()
    await asyncio.gather(*(_call(step, started + seconds, took) for _ in range(callers)))
    elapsed = perf_counter() - started
    took.sort()
    return Sample(
        len(took) / elapsed,
        mean_ms=sum(took) / len(took) * 1000,
        p50_ms=took[len(took) // 2] * 1000,
        p99_ms=took[len(took) * 99 // 100] * 1000,
    )


async def _call(step: Step, until: float, took: list[float]) -> None:
    while (now := perf_counter()) < until:
        await step(f"c{os.getpid()}-{next(_numbers)}")
        took.append(perf_counter() - now)
