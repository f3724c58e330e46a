"""Memory of a process and all below it."""

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Memory", "memory_of"]


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


def _below(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = list(children.get(root, []))
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def _kilobytes(pid: int, file: str, name: str) -> int | None:
    try:
        text = Path(f"/proc/{pid}/{file}").read_text()
    except OSError:
        return None
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else None
