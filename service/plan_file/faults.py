"""What is wrong with a file, and where."""

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["FileFault", "PlanFileError"]


class FileFault(NamedTuple):
    """One thing wrong: a line (from 1), a dotted path, a sentence."""

    line: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"line {self.line}: {where}{self.message}"


class PlanFileError(Exception):
    """The file cannot be applied as it is: `faults`, in the order of their lines."""

    def __init__(self, faults: Iterable[FileFault]) -> None:
        self.faults = sorted(faults, key=lambda fault: fault.line)
        super().__init__("\n".join(map(str, self.faults)))
