"""Memory and processor time of a process and all below it."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Memory", "memory_of", "processor_seconds"]

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Memory:
    """In MiB. Shared pages count in each process's ``rss``, once in the sum of ``pss``."""

    processes: int
    rss: float
    pss: float | None


def memory_of(root: int) -> Memory:
    pids = [root, *_below(root)]
    shares = [_kilobytes(pid, "smaps_rollup", "Pss") for pid in pids]
    known = [share for share in shares if share is not None]
    return Memory(
        len(pids),
        sum(_kilobytes(pid, "status", "VmRSS") or 0 for pid in pids) / 1024,
        sum(known) / 1024 if len(known) == len(pids) else None,
    )


def processor_seconds(root: int) -> float:
    """Used so far, also by children that have ended."""
    return sum(sum(map(int, _stat(pid)[11:15])) for pid in (root, *_below(root))) / TICKS


def _below(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        pid = int(path.parent.name)
        children.setdefault(int(_stat(pid)[1]), []).append(pid)
    found = list(children.get(root, []))
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def _stat(pid: int) -> list[str]:
    """The fields after the name; zeros for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 50


def _kilobytes(pid: int, file: str, name: str) -> int | None:
    try:
        text = Path(f"/proc/{pid}/{file}").read_text()
    except OSError:
        return None
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else None
