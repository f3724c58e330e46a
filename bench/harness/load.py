"""Load by wrk: every client sends its next call when it has the answer to its last."""

import itertools
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.harness.measure import Sample
from bench.harness.servers import Server
from bench.harness.tree import processor_seconds

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
    before = [processor_seconds(pid) for pid in (server.pid, server.store)]
    said = _wrk(server, load, seconds)
    used = [processor_seconds(pid) for pid in (server.pid, server.store)]
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+)", said)
    if found is None:
        raise RuntimeError(f"wrk: {said}")
    requests, microseconds, errors, p50, p99 = map(int, found.groups())
    if errors or not requests:
        raise RuntimeError(f"{errors} of {requests} answers were no success: {said}")
    calls = requests * load.batch
    each = [(after - start) * 1e6 / calls for start, after in zip(before, used, strict=True)]
    return Sample(
        calls / (microseconds / 1e6),
        p50_ms=p50 / 1000,
        p99_ms=p99 / 1000,
        server_us=each[0],
        store_us=each[1],
    )


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
