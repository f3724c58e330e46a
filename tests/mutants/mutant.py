"""The list of mutants: tables of TOML files beside this one."""

import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from service.paths import SQL

__all__ = ["ROOT", "Mutant", "mutants"]

HERE = Path(__file__).parent
ROOT = SQL.parent
INSTALLERS = {"_lock_down", "_audience", "_grant_statements", "_revoke_statements", "_things"}


@dataclass(frozen=True)
class Mutant:
    """One change: ``find``, which ``file`` has exactly once, becomes ``replace``."""

    name: str
    area: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]
    """What must fail: files, folders or tests, as pytest takes them."""

    @property
    def text(self) -> str:
        """The file as it is."""
        return (SQL / self.file).read_text("utf-8")

    @property
    def mutated(self) -> str:
        """The file as it becomes."""
        return self.text.replace(self.find, self.replace)

    def faults(self) -> Iterator[str]:
        """Why it can be applied no more, or what it names and is not there."""
        if not (SQL / self.file).exists():
            yield f"sql/{self.file} is not there"
        elif (times := self.text.count(self.find)) != 1:
            yield f"sql/{self.file} has {times} times, not once: {self.find!r}"
        elif self.find == self.replace:
            yield "it changes nothing"
        if not self.tests:
            yield "it names no test"
        for test in self.tests:
            path, _, name = test.partition("[")[0].partition("::")
            if not (ROOT / path).exists():
                yield f"{path} is not there"
            elif name and f"def {name}(" not in (ROOT / path).read_text("utf-8"):
                yield f"{path} has no {name}"

    @property
    def is_function(self) -> bool:
        """Whether it changes one function, and one that runs when the ledger is there."""
        return self.text.count("create function") == 1 and Path(self.file).stem not in INSTALLERS

    @property
    def replacement(self) -> str:
        """Statements that bring it into a ledger that is there, if it is a function."""
        return self.mutated.replace("create function", "create or replace function")

    def write(self, directory: Path) -> Path:
        """A copy of ``sql/`` with this change, in ``directory``."""
        copy = directory / "sql"
        shutil.copytree(SQL, copy)
        (copy / self.file).write_text(self.mutated, "utf-8")
        return copy


def mutants(only: str = "") -> list[Mutant]:
    """Every mutant, or those of an area, or those whose name contains a text."""
    found = [
        Mutant(area=path.stem, **{**entry, "tests": tuple(entry["tests"])})
        for path in sorted(HERE.glob("*.toml"))
        for entry in tomllib.loads(path.read_text("utf-8"))["mutant"]
    ]
    areas = {mutant.area for mutant in found}
    return [m for m in found if (m.area == only if only in areas else only in m.name)]
