"""``python -m tests.mutants [--only NAME] [--check]``: which mutants do the tests kill?

One PostgreSQL for all of them. First the named tests on the ledger as it is, which must pass; then
for each mutant a template of its own, and pytest until the first failure. Exits 1 if one survives.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio.plugin  # noqa: F401 what every fork needs is imported once

import tests.conftest  # noqa: F401
from service.paths import SQL
from tests.mutants.mutant import ROOT, Mutant, mutants
from tests.support import databases, schemas
from tests.support.cluster import Cluster

PATIENCE_SECONDS = 900
STUCK = -1
VERDICTS = {
    pytest.ExitCode.OK: "SURVIVED",
    pytest.ExitCode.TESTS_FAILED: "killed",
    STUCK: "killed",  # a test that waits for ever has noticed
}
OPTIONS = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin"]


def main() -> int:
    arguments = _arguments()
    chosen = mutants(arguments.only)
    outdated = _outdated(chosen)
    if outdated or arguments.check:
        return int(outdated > 0)
    os.chdir(ROOT)
    cluster = Cluster.start()
    try:
        if not arguments.no_baseline and not _baseline(cluster, chosen):
            print("the tests fail without any mutant: nothing to learn", file=sys.stderr)
            return 2
        verdicts = {mutant.name: _judge(cluster, mutant) for mutant in chosen}
    finally:
        cluster.stop()
    killed = sum(verdict == "killed" for verdict in verdicts.values())
    print(f"{killed} of {len(chosen)} mutants killed")
    for name, verdict in verdicts.items():
        if verdict != "killed":
            print(f"  {verdict}: {name}")
    return 0 if killed == len(chosen) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="an area, or a part of names")
    parser.add_argument("--check", action="store_true", help="only say which apply no more")
    parser.add_argument("--no-baseline", action="store_true", help="the tests are known to pass")
    return parser.parse_args()


def _outdated(chosen: list[Mutant]) -> int:
    """Say which mutants are of another ``sql/`` or other tests than these; how many."""
    faults = {mutant: "; ".join(mutant.faults()) for mutant in chosen}
    for mutant, fault in faults.items():
        if fault:
            print(f"{mutant.area}.toml, {mutant.name}: {fault}", file=sys.stderr)
    outdated = sum(bool(fault) for fault in faults.values())
    print(f"{len(chosen) - outdated} of {len(chosen)} mutants can be applied", flush=True)
    return outdated


def _baseline(cluster: Cluster, chosen: list[Mutant]) -> bool:
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    with tempfile.TemporaryFile("w+b") as log:
        done = _pytest(cluster, tests, log.fileno(), {})
        if done != pytest.ExitCode.OK:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-4000:])
    return done == pytest.ExitCode.OK


def _judge(cluster: Cluster, mutant: Mutant) -> str:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="preauth-mutant-") as directory:
        sources = mutant.write(Path(directory))
        folder = {"PREAUTH_TEST_SQL": str(sources)}
        name = databases.template_name("sql", sources)
        if mutant.is_function:
            base = databases.template(cluster, "sql")
            databases.build(cluster, name, lambda url: _replace(url, mutant), base)
        log = Path(directory) / "log"
        with log.open("w+b") as output:
            done = _pytest(cluster, list(mutant.tests), output.fileno(), folder)
            verdict = VERDICTS.get(done, "BROKEN")
        databases.drop(cluster, name)
        by = _first_failure(log.read_text("utf-8", errors="replace"))
    took = time.monotonic() - began
    print(f"{verdict:9}{took:6.1f} s  {mutant.area}: {mutant.name}  {by}", flush=True)
    return verdict


def _replace(url: str, mutant: Mutant) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(mutant.replacement.encode())


def _first_failure(log: str) -> str:
    lines = [line for line in log.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return lines[0].split(" - ")[0].rpartition("/")[2] if lines else ""


def _pytest(cluster: Cluster, tests: list[str], log: int, environment: dict[str, str]) -> int:
    """The exit code of pytest, in a fork of this process: all that it imports is here already."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.update({"PREAUTH_TEST_CLUSTER": cluster.pattern, **environment})
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they take longer than most tests
        schemas.SOURCES = Path(os.environ.get("PREAUTH_TEST_SQL", SQL))
        done = pytest.main([*OPTIONS, *tests])
        sys.stdout.flush()
        os._exit(done)
    return _wait(child)


def _wait(child: int) -> int:
    """Its exit code; what has not ended in time is killed, with all that it started."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return STUCK


if __name__ == "__main__":
    sys.exit(main())
