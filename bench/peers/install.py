"""Installing the peers, each into a folder of its own that git ignores."""

import shutil
import subprocess
import sys
from pathlib import Path

from bench.harness.database import CACHE
from bench.harness.measure import say
from bench.harness.tools import need

__all__ = ["CREDIT_LEDGER", "NODE", "credit_ledger", "node"]

HERE = Path(__file__).parent
NODE = HERE / "node"
REQUIREMENTS = HERE / "credit_ledger" / "requirements.txt"
CREDIT_LEDGER = CACHE / "credit-ledger"
INSTALL_SECONDS = 300


def node() -> bool:
    """llm-budget-cap and its client, exactly as in package-lock.json."""
    if not (need("node", "nodejs") and need("npm", "npm") and need("redis-server", "redis-server")):
        return False
    npm = shutil.which("npm") or "npm"
    return _done("llm-budget-cap", [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"])


def credit_ledger() -> bool:
    """credit-ledger alone: SQLAlchemy and psycopg are the service's own."""
    shutil.rmtree(CREDIT_LEDGER, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    what = [
        "--no-deps",
        "--require-hashes",
        "--target",
        str(CREDIT_LEDGER),
        "-r",
        str(REQUIREMENTS),
    ]
    return _done("credit-ledger", [*pip, *what])


def _done(name: str, command: list[str]) -> bool:
    say(f"installing {name}")
    done = subprocess.run(
        command,
        cwd=NODE,
        check=False,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        say(f"{name} cannot be installed, left out: {done.stderr.strip()[-500:]}")
    return done.returncode == 0
