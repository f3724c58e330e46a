"""Waiting for a condition, never for a while."""

import asyncio
import time
from collections.abc import Awaitable, Callable

__all__ = ["until", "until_sync"]


async def until(
    condition: Callable[[], Awaitable[object]], what: str, *, seconds: float = 20
) -> None:
    """Return once the condition holds; fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        await asyncio.sleep(0.005)


def until_sync(condition: Callable[[], object], what: str, *, seconds: float = 20) -> None:
    """The same without an event loop."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        time.sleep(0.02)
