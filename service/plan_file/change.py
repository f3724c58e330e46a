"""A call that is due to bring the ledger to what a file says, and how it is told."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from service.plan_file.faults import FileFault
from service.plan_file.reader import Path, Source

__all__ = ["ABSENT", "Change", "Difference", "Json", "is_problem", "joined", "refused"]

Json = dict[str, Any]
Difference = tuple[str, Any, Any]
"""A path, what is there (None: nothing), what shall be there (None: nothing)."""

ABSENT: Any = object()


@dataclass(frozen=True)
class Change:
    """One call that is due, what it is about, and what it changes."""

    at: Path
    differences: tuple[Difference, ...]
    function: str
    arguments: Json

    def lines(self) -> Iterator[str]:
        """The difference, a line each: ``+`` new, ``-`` gone, ``~`` other."""
        for path, before, after in self.differences:
            if before is ABSENT:
                yield f"+ {path}: {json.dumps(after)}"
            elif after is ABSENT:
                yield f"- {path}: {json.dumps(before)}"
            else:
                yield f"~ {path}: {json.dumps(before)} -> {json.dumps(after)}"


def joined(at: Path) -> str:
    """A path as people write it."""
    return ".".join(map(str, at))


def is_problem(answer: Any) -> bool:
    """Whether the ledger's answer is a refusal."""
    return isinstance(answer, dict) and "type" in answer and "title" in answer


def refused(problem: Json, at: Path, source: Source) -> Iterator[FileFault]:
    """What the ledger has against what stands at a path."""
    if "field" in problem:
        named = () if at[-1:] == (problem["field"],) else (problem["field"],)
        yield source.fault((*at, *named), problem["detail"])
        return
    errors = problem.get("errors") or [{"path": "", "message": problem["detail"]}]
    for error in errors:
        inner = tuple(int(s) if s.isdecimal() else s for s in error["path"].split(".") if s)
        yield source.fault((*at, *inner), error["message"])
