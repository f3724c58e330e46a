"""What a figure means nothing without."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from bench.harness.database import Database
from bench.harness.options import Options
from service.paths import SQL

__all__ = ["conditions", "cores"]

SETTINGS = (
    "server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method",
    "shared_buffers", "max_wal_size", "min_wal_size", "checkpoint_timeout",
)  # fmt: skip


def conditions(database: Database, options: Options, *more: str) -> str:
    """A paragraph."""
    with database.connect() as connection:
        shown = {s: str(connection.execute(f"show {s}").fetchone()[0]) for s in SETTINGS}
    version = shown.pop("server_version")
    parts = [
        f"Commit {_commit()}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"{cores()} cores ({_processor()}) for load, service and PostgreSQL together",
        f"load average at the start {os.getloadavg()[0]:.1f}",
        f"Python {platform.python_version()}",
        f"PostgreSQL {version}, defaults but for: {_listed(shown)}",
        f"medians of {options.rounds} interleaved rounds, {options.seconds} s a trial",
        *more,
    ]
    return "; ".join(parts) + "."


def cores() -> int:
    return len(os.sched_getaffinity(0))


def _listed(settings: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _commit() -> str:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(SQL.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    changed = " with uncommitted changes" if git("status", "--porcelain", "sql", "service") else ""
    return (git("rev-parse", "--short", "HEAD") or "unknown") + changed


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
