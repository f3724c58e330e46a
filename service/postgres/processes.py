"""Finding and ending what an earlier start left running in a data directory (Linux)."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["clear_leftovers", "end_with_parent", "postmaster_status", "processes_in"]

PR_SET_PDEATHSIG = 1
FAST_SECONDS = 60.0
QUIT_SECONDS = 3.0
STATUS_LINE = 7


def processes_in(directory: Path) -> list[int]:
    """The PostgreSQL processes that work in ``directory``: a postmaster and its backends do."""
    proc = Path("/proc")
    if not (proc.is_dir() and directory.is_dir()):
        return []
    place = directory.stat()
    return [int(p.name) for p in proc.iterdir() if p.name.isdecimal() and _works_in(p, place)]


def _works_in(process: Path, place: os.stat_result) -> bool:
    try:
        at = (process / "cwd").stat()
        name = (process / "comm").read_text().strip()
    except OSError:  # gone meanwhile, a zombie, or another user's
        return False
    return (at.st_dev, at.st_ino) == (place.st_dev, place.st_ino) and name.startswith("postgres")


def postmaster_status(data: Path) -> tuple[int, str]:
    """The pid and the status in ``postmaster.pid``: ``(0, "")`` when there is none."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        return int(lines[0]), lines[STATUS_LINE].strip() if len(lines) > STATUS_LINE else ""
    except (OSError, ValueError, IndexError):
        return 0, ""


def clear_leftovers(data: Path) -> None:
    """Stop a postmaster whose launcher died, end orphaned backends, remove a stale pid file.

    The caller holds the lock of the data directory, so nobody else is starting one.
    """
    postmaster, _ = postmaster_status(data)
    if postmaster in processes_in(data):
        _signal([postmaster], signal.SIGINT)
        _wait(lambda: postmaster not in processes_in(data), FAST_SECONDS)
    for number in (signal.SIGQUIT, signal.SIGKILL):
        if left := _still_there(data, seconds=1.0):
            _signal(left, number)
            _wait(lambda: not processes_in(data), QUIT_SECONDS)
    if not processes_in(data):
        (data / "postmaster.pid").unlink(missing_ok=True)


def _still_there(data: Path, seconds: float) -> list[int]:
    """Backends of a dead postmaster usually notice at once: give them a moment."""
    _wait(lambda: not processes_in(data), seconds)
    return processes_in(data)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def end_with_parent() -> Callable[[], None] | None:
    """For a child about to start: the kernel asks it to stop when the starting thread ends."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    number = int(signal.SIGINT)  # PostgreSQL's fast shutdown

    def arrange() -> None:
        prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)

    return arrange
