"""pgbench of the embedded PostgreSQL."""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from bench.harness.database import Database
from bench.harness.measure import Sample
from bench.harness.seed import AMOUNT, TTL_SECONDS
from bench.harness.tree import processor_seconds
from service.postgres.binaries import embedded_bin_dir

__all__ = ["ORDERED_IDS", "SAME_IDS", "Script", "batch", "ids", "run"]

INDEPENDENT_IDS = "{}~"
ORDERED_IDS = "~-{}"
SAME_IDS = "again-{}"


@dataclass(frozen=True)
class Script:
    """A transaction: prepared once a connection, so that its plan is cached."""

    text: str
    clients: int
    counts: int = 1
    """How many of what is measured one transaction does."""
    values: dict[str, str] = field(default_factory=dict)
    """Sent along by the client, ``:name`` in the text."""


def batch(count: int, ids: str = INDEPENDENT_IDS, amount: int = AMOUNT) -> dict[str, str]:
    """Items for one hot account as a client sends them, for the variable ``items``.

    ~ stands for what makes the ids of one transaction its own.
    """
    bodies = [
        {
            "request_id": ids.format(n),
            "account_id": "hot",
            "amounts": {"usd_nano": amount},
            "ttl_seconds": TTL_SECONDS,
        }
        for n in range(count)
    ]
    return {"items": json.dumps(bodies, separators=(",", ":"))}


def ids(count: int) -> dict[str, str]:
    """The ids of such items alone, an array of texts for the variable ``ids``."""
    return {"ids": "{" + ",".join(INDEPENDENT_IDS.format(n) for n in range(count)) + "}"}


def run(script: Script, database: Database, seconds: int) -> Sample:
    """One trial."""
    before, used = database.wal_position(), processor_seconds(database.pid)
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script.text)
        file.flush()
        said = _run(script, database, seconds, file.name)
    transactions = int(_found(r"actually processed: (\d+)", said))
    failed = _found(r"failed transactions: (\d+)", said)
    if failed != "0":
        raise RuntimeError(f"pgbench: {failed} transactions failed")
    done = max(1, transactions * script.counts)
    return Sample(
        float(_found(r"tps = ([\d.]+)", said)) * script.counts,
        mean_ms=float(_found(r"latency average = ([\d.]+)", said)),
        wal_bytes=(database.wal_position() - before) / done,
        store_us=(processor_seconds(database.pid) - used) * 1e6 / done,
    )


def _run(script: Script, database: Database, seconds: int, file: str) -> str:
    definitions = [part for n, v in script.values.items() for part in ("-D", f"{n}={v}")]
    command = [
        str(embedded_bin_dir() / "pgbench"), "--no-vacuum", "--protocol=prepared",
        f"--client={script.clients}", "--jobs=1", f"--time={seconds}", f"--file={file}",
        *definitions, database.dsn,
    ]  # fmt: skip
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + 60,
        cwd=Path(file).parent,
        env={"PATH": os.environ.get("PATH", "")},
    )
    if done.returncode != 0:
        raise RuntimeError(f"pgbench failed: {done.stderr[-2000:]}")
    return done.stdout


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"pgbench said no {pattern!r}: {text}")
    return found[1]
