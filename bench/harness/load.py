"""Load by wrk: every client sends its next call when it has the answer to its last."""

import itertools
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.harness.measure import Sample
from bench.harness.servers import Server

__all__ = ["Load", "run"]

SCRIPT = Path(__file__).parent.parent / "calls.lua"

_runs = itertools.count(os.getpid() * 1000)


@dataclass(frozen=True)
class Load:
    """POST /reserve by accounts ``<account>1`` to ``<account><accounts>``, or by one."""

    clients: int = 64
    account: str = "hot"
    accounts: int = 0
    batch: int = 1
    """Calls in one request; more than one: an array."""


def run(server: Server, load: Load, seconds: int) -> Sample:
    """One trial. A single answer that is not 2xx makes it invalid."""
    said = _wrk(server, load, seconds)
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+)", said)
    if found is None:
        raise RuntimeError(f"wrk: {said}")
    requests, microseconds, errors, p50, p99 = map(int, found.groups())
    if errors or not requests:
        raise RuntimeError(f"{errors} of {requests} answers were no success: {said}")
    per_second = requests * load.batch / (microseconds / 1e6)
    return Sample(per_second, p50_ms=p50 / 1000, p99_ms=p99 / 1000)


def _wrk(server: Server, load: Load, seconds: int) -> str:
    command = [
        "wrk", "--threads=1", f"--connections={load.clients}", f"--duration={seconds}s",
        "--timeout=10s", f"--script={SCRIPT}", server.url, "--",
        "/reserve", load.account, str(load.accounts), f"r{next(_runs)}", server.key,
        str(load.batch),
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=seconds + 60
    )
    return done.stdout + done.stderr
