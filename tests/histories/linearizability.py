"""Is there one order of a window's calls, each within its own time, that explains every answer?

The search of Wing and Gong with Lowe's memory: take any call that no other has wholly preceded and
that the window could have answered so, and go on; come back where nobody can go on. What a window
counts is the sum of what was taken, so the set of calls that were taken is the whole state, and a
set that was tried once is not tried again. A call that moves nothing (a denial) is taken as soon
as it can be: to take it later never helps anybody.

There are two searches, each with so much patience. One goes where the hints point. The other is for
answers that tell no figures, where only sums within the limit count and most orders are as good as
another: what gives back can always be taken later, so it waits until it is due or until a hold that
is due needs the room; a hold waits until it is due or until a denial needs the window that full.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from tests.histories.history import Op

__all__ = ["Verdict", "check"]

STEPS_PER_OP = 20
LEAST_STEPS = 20_000


@dataclass(frozen=True)
class Verdict:
    """``fault``: why no order explains it. ``undecided``: the search was given up."""

    fault: str | None = None
    undecided: bool = False

    @property
    def holds(self) -> bool:
        return self.fault is None and not self.undecided


def check(ops: Sequence[Op], limit: int, *, begins_at: int = 0) -> Verdict:
    """Look for an order of the calls of one window with a hard limit."""
    calls = sorted(ops, key=lambda op: op.invoked)
    verdict = _Search(calls, limit).run(begins_at)
    if verdict.undecided and _only_sums_count(calls):
        return _LazySearch(calls, limit).run(begins_at)
    return verdict


def _only_sums_count(ops: Sequence[Op]) -> bool:
    return all(op.left is None and (op.delta <= 0 or op.fits in {op.delta, None}) for op in ops)


class _Search:
    """Depth first. A state is (how many were taken from the front, which beyond as a bit mask)."""

    def __init__(self, ops: list[Op], limit: int) -> None:
        self._ops = ops
        self._limit = limit
        self._seen: set[tuple[int, int]] = set()
        self._furthest = (-1, 0, 0)

    def run(self, used: int) -> Verdict:
        ops, steps = self._ops, max(LEAST_STEPS, STEPS_PER_OP * len(self._ops))
        stack = [(0, 0, used, self._next(0, 0, used))]
        while stack:
            front, mask, used, choices = stack[-1]
            if front == len(ops):
                return Verdict()
            if not choices:
                stack.pop()
                continue
            taken = choices.pop()
            state = self._take(front, mask, taken)
            if state in self._seen:
                continue
            self._seen.add(state)
            if not (steps := steps - 1):
                return Verdict(undecided=True)
            after = used + ops[taken].delta
            self._furthest = max(self._furthest, (*state, after))
            stack.append((*state, after, self._next(*state, after)))
        return Verdict(fault=self._where())

    @staticmethod
    def _take(front: int, mask: int, taken: int) -> tuple[int, int]:
        mask |= 1 << (taken - front)
        while mask & 1:
            mask >>= 1
            front += 1
        return front, mask

    def _pending(self, front: int, mask: int) -> list[int]:
        """Those that nobody left has wholly preceded."""
        found, first_answer = [], inf
        for n in range(front, len(self._ops)):
            if mask >> (n - front) & 1:
                continue
            if self._ops[n].invoked > first_answer:
                break
            found.append(n)
            first_answer = min(first_answer, self._ops[n].answered)
        return found

    def _next(self, front: int, mask: int, used: int) -> list[int]:
        """What could come next, the best guess last."""
        ops, limit = self._ops, self._limit
        pending = self._pending(front, mask)
        possible = [n for n in pending if ops[n].possible(used, limit)]
        for n in possible:
            if not ops[n].delta:
                return [n]
        return self._worth_it(pending, possible, used)[::-1]

    def _worth_it(self, pending: list[int], possible: list[int], used: int) -> list[int]:
        """Those of the possible that are to be tried, the best guess first."""
        return sorted(possible, key=self._guess)

    def _guess(self, n: int) -> tuple[float, float]:
        op = self._ops[n]
        return (op.answered if op.hint is None else op.hint, op.answered)

    def _where(self) -> str:
        front, mask, used = self._furthest if self._furthest[0] >= 0 else (0, 0, 0)
        stuck = [self._ops[n] for n in self._pending(front, mask)]
        return (
            f"no order explains call {front} of {len(self._ops)}: with {used} of {self._limit} used,"
            f" none of these could have been answered so: {stuck[:8]}"
        )


class _LazySearch(_Search):
    """Nothing is taken that can as well be taken later.

    What needs no room, and takes some, can: but a hold may have to come before it.
    """

    def _worth_it(self, pending: list[int], possible: list[int], used: int) -> list[int]:
        if not pending:
            return []
        ops = self._ops
        due = min(pending, key=lambda n: ops[n].answered)
        possible.sort(key=lambda n: ops[n].answered)
        if ops[due].delta > 0 and due in possible:
            if ops[due].fits is not None:
                return [due]
            return [due, *(n for n in possible if n != due)]
        denied = [lacks for n in pending if (lacks := ops[n].lacks) is not None]
        holds = [n for n in possible if ops[n].delta > 0] if denied else []
        holds.sort(key=lambda n: used + ops[n].delta + max(denied) <= self._limit)
        back = [due] if ops[due].delta < 0 else [n for n in possible if ops[n].delta < 0]
        return [*holds, *back]
