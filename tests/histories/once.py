"""Exactly once: of all replies under one id, one at most is the first, and all say the same."""

from dataclasses import dataclass, field
from math import inf

__all__ = ["Once"]


@dataclass(slots=True)
class _Id:
    said: bytes
    first_answer: float = inf
    fresh: bool = False


@dataclass
class Once:
    """The replies under every id, as they come in."""

    _ids: dict[object, _Id] = field(default_factory=dict)

    def note(
        self, key: object, said: bytes, *, replayed: bool, invoked: float, answered: float
    ) -> str | None:
        """Take a reply in; what is wrong with it, if anything.

        ``said``: the reply, or a digest of it, without what a replay may change. ``invoked``: when
        the call was first sent; it was sent again until this reply came.
        """
        known = self._ids.setdefault(key, _Id(said))
        if known.said != said:
            return f"{key} was answered in two ways"
        if not replayed:
            if known.fresh:
                return f"{key} was done twice"
            if invoked > known.first_answer:
                return f"{key} was done after it had been answered"
            known.fresh = True
        known.first_answer = min(known.first_answer, answered)
        return None

    def __len__(self) -> int:
        return len(self._ids)
