"""All that was acknowledged, and every contradiction seen on the way."""

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.campaign.roads import Said
from tests.e2e.campaign.tree import Window
from tests.histories.history import Op
from tests.histories.once import Once

__all__ = ["Figures", "Key", "Log", "Times", "digest"]

Json = dict[str, Any]
Key = tuple[str, str, str]
"""(call, account, id)"""

PRESENT = {"replayed", "state", "expires_at"}
"""What a replay says as it is now: where the reservation has come to since."""


@dataclass(frozen=True, slots=True)
class Times:
    """When a call was first sent, and when its answer had come."""

    invoked: float
    answered: float


@dataclass
class Figures:
    """What is counted over all rounds."""

    counts: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    no_answers: Counter[str] = field(default_factory=Counter)
    mismatches: list[str] = field(default_factory=list)

    def mismatch(self, kind: str, what: str) -> None:
        """``kind`` is what the figures call it: mismatches, lost, over-admissions."""
        self.counts[kind] += 1
        self.mismatches.append(f"{kind}: {what}")


@dataclass
class Log:
    """One round's."""

    figures: Figures
    acknowledged: dict[Key, tuple[Json, bytes]] = field(default_factory=dict)
    """The body sent and the digest of the first answer, for the calls that move money."""
    settled: Counter[Window] = field(default_factory=Counter)
    reserved: Counter[Window] = field(default_factory=Counter)
    excused: Counter[Window] = field(default_factory=Counter)
    """What may be above the limit because somebody decided so, from when it was first sent."""
    abandoned: dict[tuple[str, str], str] = field(default_factory=dict)
    """What state time alone brings a reservation to: (account, id) of those that nobody ends."""
    lapses_until: float = 0.0
    """When the last lease that was noted lapses."""
    denied: Counter[Window] = field(default_factory=Counter)
    histories: defaultdict[Window, list[Op]] = field(default_factory=lambda: defaultdict(list))
    once: Once = field(default_factory=Once)

    def count(self, name: str, status: int) -> None:
        self.figures.counts["operations"] += 1
        self.figures.answers[f"{name} {status}"] += 1

    def acknowledge(self, key: Key, body: Json, said: Said, times: Times) -> bool:
        """Note an answer that a repetition must repeat; whether it is the first to this id."""
        mark = digest(said)
        wrong = self.once.note(
            key,
            mark,
            replayed=said[1]["replayed"],
            invoked=times.invoked,
            answered=times.answered,
        )
        if wrong:
            self.figures.mismatch("mismatches", f"{wrong}: {body} -> {said}")
        first = key not in self.acknowledged
        self.acknowledged.setdefault(key, (body, mark))
        return first

    def expect(self, condition: object, what: str) -> None:
        if not condition:
            self.figures.mismatch("mismatches", what)

    def move(
        self, window: Window, times: Times, *, settled: int, reserved: int, **said: Any
    ) -> None:
        """Note what an acknowledged call did to a window, and what the answer said of it."""
        self.settled[window] += settled
        self.reserved[window] += reserved
        self.histories[window].append(
            Op(times.invoked, times.answered, delta=settled + reserved, **said)
        )

    def deny(self, window: Window, times: Times, **said: Any) -> None:
        self.denied[window] += 1
        self.histories[window].append(Op(times.invoked, times.answered, **said))


def digest(said: Said) -> bytes:
    """Equal for an answer and its repetition."""
    status, body = said
    kept = {name: value for name, value in body.items() if name not in PRESENT}
    text = json.dumps([status, kept], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).digest()
