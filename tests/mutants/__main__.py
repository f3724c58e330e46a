"""``python -m tests.mutants [--only NAME]``: which mutants do the tests kill?

One PostgreSQL for all of them. First the named tests on the ledger as it is, which must pass; then
for each mutant a template of its own, and pytest until the first failure. Exits 1 if one survives.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.mutants.mutant import ROOT, Mutant, mutants
from tests.support.cluster import Cluster

PATIENCE_SECONDS = 600
VERDICTS = {pytest.ExitCode.OK: "SURVIVED", pytest.ExitCode.TESTS_FAILED: "killed"}


def main() -> int:
    arguments = _arguments()
    chosen = mutants(arguments.only)
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
    parser.add_argument("--no-baseline", action="store_true", help="the tests are known to pass")
    return parser.parse_args()


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
        folder = {"PREAUTH_TEST_SQL": str(mutant.write(Path(directory)))}
        log = Path(directory) / "log"
        with log.open("w+b") as output:
            try:
                done = _pytest(cluster, list(mutant.tests), output.fileno(), folder)
                verdict = VERDICTS.get(pytest.ExitCode(done), "BROKEN")
            except subprocess.TimeoutExpired:
                verdict = "killed"  # a test that waits for ever has noticed
        by = _first_failure(log.read_text("utf-8", errors="replace"))
    took = time.monotonic() - began
    print(f"{verdict:9}{took:6.1f} s  {mutant.area}: {mutant.name}  {by}", flush=True)
    return verdict


def _first_failure(log: str) -> str:
    lines = [line for line in log.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return lines[0].split(" - ")[0].rpartition("/")[2] if lines else ""


def _pytest(cluster: Cluster, tests: list[str], log: int, environment: dict[str, str]) -> int:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *tests],
        cwd=ROOT,
        env={**os.environ, "PREAUTH_TEST_CLUSTER": cluster.pattern, **environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        timeout=PATIENCE_SECONDS if environment else None,
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
