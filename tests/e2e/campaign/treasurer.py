"""Gives room where calls are denied, so that limits are always close and never only a wall."""

import asyncio
from dataclasses import dataclass

from tests.e2e.campaign.spender import Spender
from tests.e2e.campaign.tree import Tree

__all__ = ["Treasurer"]

LOOK_SECONDS = 0.02
DENIALS = 3


@dataclass
class Treasurer:
    """Adjusts the window that was denied most often since it was last looked at."""

    spender: Spender
    given: int = 0

    async def work(self) -> None:
        """One look, and an adjustment where one is due."""
        denied = self.spender.log.denied
        for window, count in denied.most_common(1):
            if count >= DENIALS:
                denied[window] = 0
                self.given += 1
                amount = -(Tree.limit(window) // 2)
                await self.spender.adjust(window, amount, f"{window[0]}.{self.given}")
                return
        await asyncio.sleep(LOOK_SECONDS)
