"""The list of mutants: tables of TOML files beside this one."""

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from service.paths import SQL

__all__ = ["ROOT", "Mutant", "mutants"]

HERE = Path(__file__).parent
ROOT = SQL.parent


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
        assert self.text.count(self.find) == 1, f"{self.file} has {self.find!r} not exactly once"
        return self.text.replace(self.find, self.replace)

    def write(self, directory: Path) -> Path:
        """A copy of ``sql/`` with this change, in ``directory``."""
        copy = directory / "sql"
        shutil.copytree(SQL, copy)
        (copy / self.file).write_text(self.mutated, "utf-8")
        return copy


def mutants(only: str = "") -> list[Mutant]:
    """Every mutant whose name or area contains ``only``."""
    found = [
        Mutant(area=path.stem, **{**entry, "tests": tuple(entry["tests"])})
        for path in sorted(HERE.glob("*.toml"))
        for entry in tomllib.loads(path.read_text("utf-8"))["mutant"]
    ]
    return [mutant for mutant in found if only in mutant.name or only == mutant.area]
