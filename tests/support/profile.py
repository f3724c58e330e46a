"""Which statements and branches of the plpgsql functions the tests run: ``make coverage-sql``.

plpgsql_check's profiler (Debian's packages have it, the embedded server cannot) counts in shared
memory, by database. Before a test's database is dropped its counts go into a file; ``main`` runs
the tests on a cluster that counts, adds the files up, and names what was never run. The files of
several runs add up in a folder that ``PREAUTH_TEST_PROFILE`` names.

A branch is a body of ``if``, ``case`` or a loop, and the else that an ``if`` does not have.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

__all__ = ["OPTIONS", "collect", "is_on", "main"]

DIRECTORY = "PREAUTH_TEST_PROFILE"
OPTIONS = {
    "shared_preload_libraries": "plpgsql,plpgsql_check",
    "plpgsql_check.profiler": "on",
    "plpgsql_check.profiler_max_shared_chunks": "50000",
}
DEFAULT = [
  "-m", "not slow and not e2e", "tests/sql", "tests/field_reports", "tests/schema",
  "tests/jobs", "tests/service/test_retention.py",
]  # fmt: skip
RAN = """
select p.oid, p.oid::regprocedure::text, md5(p.prosrc), s.stmtid, s.parent_stmtid, s.parent_note,
  s.lineno, s.exec_stmts, s.stmtname
from pg_proc as p
join plpgsql_profiler_functions_all() as f on f.funcoid::oid = p.oid
cross join lateral plpgsql_profiler_function_statements_tb(p.oid) as s
where p.pronamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)
  and p.prolang = (select l.oid from pg_language as l where l.lanname = 'plpgsql')  -- a clock of a test is not
order by p.oid, s.stmtid
"""
KNOWN = """
select p.oid::regprocedure::text from pg_proc as p join pg_language as l on l.oid = p.prolang
where l.lanname = 'plpgsql' and p.pronamespace in ('preauth'::regnamespace, 'preauth_api'::regnamespace)
"""


def is_on() -> bool:
    """Whether this run counts."""
    return DIRECTORY in os.environ


def collect(url: str) -> None:
    """Write down what ran in a database, and forget it."""
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("select to_regnamespace('preauth_api')").fetchone() == (None,):
            return
        connection.execute("set plpgsql_check.profiler = off")
        connection.execute("drop extension if exists plpgsql_check")  # a test may have made it
        connection.execute("create schema profiled")
        connection.execute("create extension plpgsql_check schema profiled")
        connection.execute("set search_path = profiled, pg_catalog")
        rows = connection.execute(RAN).fetchall()
        known = [name for (name,) in connection.execute(KNOWN)]
        for oid in {row[0] for row in rows}:
            connection.execute("select plpgsql_profiler_reset(%s)", [oid])
        connection.execute("drop schema profiled cascade")
    with (Path(os.environ[DIRECTORY]) / f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps([known, [row[1:] for row in rows]]) + "\n")


@dataclass
class Function:
    """What all tests together ran of one function."""

    counts: Counter[int] = field(default_factory=Counter)
    statements: dict[int, tuple[int | None, str | None, int, str]] = field(default_factory=dict)

    def missed(self) -> Iterator[str]:
        """What was never run, by line."""
        for number, (_, _, line, name) in sorted(self.statements.items()):
            if self.counts[number] == 0:
                yield f"line {line}: {name}"
            elif name == "IF" and not self._has_else(number) and not self._skips(number):
                yield f"line {line}: {name} that is never false"

    def _children(self, number: int) -> Iterator[tuple[int, str | None]]:
        """Its bodies' statements in their order, each with the name of the body it is in."""
        for child, (parent, note, _, _) in sorted(self.statements.items()):
            if parent == number:
                yield child, note

    def _has_else(self, number: int) -> bool:
        return any(note and note.startswith("else") for _, note in self._children(number))

    def _skips(self, number: int) -> bool:
        first: dict[str | None, int] = {}
        for child, note in self._children(number):
            first.setdefault(note, child)
        return self.counts[number] > sum(self.counts[child] for child in first.values())


def _read(directory: Path) -> tuple[dict[str, Function], set[str]]:
    functions: dict[tuple[str, str], Function] = {}
    known: set[str] = set()
    for path in sorted(directory.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            names, rows = json.loads(line)
            known.update(names)
            _add(functions, rows)
    # a test may have put another function in place of one: the ledger's own is what most have
    most: dict[str, Function] = {}
    for (name, _), function in functions.items():
        if name not in most or sum(function.counts.values()) > sum(most[name].counts.values()):
            most[name] = function
    return most, known


def _add(functions: dict[tuple[str, str], Function], rows: list[list[Any]]) -> None:
    for name, source, number, parent, note, line, count, statement in rows:
        function = functions.setdefault((name, source), Function())
        function.statements[number] = (parent, note, line, statement)
        function.counts[number] += count or 0


def main(arguments: list[str]) -> int:
    """Run the tests and report."""
    with contextlib.ExitStack() as stack:
        directory = os.environ.get(DIRECTORY) or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="preauth-profile-")
        )
        chosen = [] if any(part.startswith("tests") for part in arguments) else DEFAULT
        command = [sys.executable, "-m", "pytest", "-q", *arguments, *chosen]
        ran = subprocess.run(command, env={**os.environ, DIRECTORY: directory}, check=False)
        functions, known = _read(Path(directory))
    total = missed = below = 0
    for name in sorted(known):
        gaps = list(functions[name].missed()) if name in functions else ["never called"]
        total += len(functions[name].statements) if name in functions else 1
        missed += len(gaps)
        below += bool(gaps)
        for gap in gaps:
            print(f"{name.partition('(')[0]}, {gap}")
    print(f"{len(known)} functions, {below} below 100 %; {missed} gaps in {total} statements")
    return ran.returncode or int(below > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
