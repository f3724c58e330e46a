"""``python -m tests.mutants.service [MUTANT...]``: which mutants of ``service/`` do tests kill?

mutmut makes them and runs the tests of each; what is mutated and by which tests is said in
pyproject.toml. One PostgreSQL serves all. At the end the score, and each that nobody noticed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.mutants.mutant import ROOT
from tests.support.cluster import Cluster

FIGURES = ROOT / "mutants" / "mutmut-cicd-stats.json"
NOTICED = ("killed", "timeout")
MISSED = ("survived", "no_tests", "suspicious", "segfault")


def main(chosen: list[str]) -> int:
    cluster = Cluster.start()
    try:
        ran = _mutmut("run", *chosen, cluster=cluster)
    finally:
        cluster.stop()
    if ran:
        return ran
    _mutmut("results")
    _mutmut("export-cicd-stats")
    figures = json.loads(FIGURES.read_text())
    noticed, missed = (sum(figures[kind] for kind in kinds) for kinds in (NOTICED, MISSED))
    print(f"{noticed} of {noticed + missed} mutants of service/ noticed: {figures}")
    return 0


def _mutmut(*arguments: str, cluster: Cluster | None = None) -> int:
    command = [Path(sys.executable).with_name("mutmut"), *arguments]
    shared = {"PREAUTH_TEST_CLUSTER": cluster.pattern} if cluster else {}
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **shared}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
