"""A place that gets full: a small file system of its own, else a limit on the size of files."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from service.postgres import PostgresServer

__all__ = ["FileLimit", "SmallDisk", "limit_files", "small_place"]


class SmallDisk:
    """A file system of its own; ``fill`` leaves nothing of it, ``free`` gives it back."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._ballast = place / "ballast"

    def fill(self, server: PostgresServer) -> None:
        with self._ballast.open("ab", buffering=0) as ballast, contextlib.suppress(OSError):
            while ballast.write(bytes(4096)):
                pass

    def free(self, server: PostgresServer) -> None:
        self._ballast.unlink()

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self._place)], check=True)


def _mount(place: Path, megabytes: int) -> bool:
    """Only root may, and not everywhere."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(place)]
    return os.geteuid() == 0 and subprocess.run(command, check=False).returncode == 0


class FileLimit:
    """PostgreSQL may write hardly any file."""

    def fill(self, server: PostgresServer) -> None:
        self._limit(server, "8192")

    def free(self, server: PostgresServer) -> None:
        self._limit(server, "unlimited")

    @staticmethod
    def _limit(server: PostgresServer, most: str) -> None:
        if server.pid is None:
            return
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        for pid in (server.pid, *map(int, children)):
            with contextlib.suppress(FileNotFoundError, subprocess.CalledProcessError):  # it ended
                limit_files(pid, most)

    def unmount(self) -> None:
        """Nothing was mounted."""


def limit_files(pid: int, most: str) -> None:
    """How many bytes a file may have that this process writes. Set by its user: root need not be
    allowed to."""
    owner = Path(f"/proc/{pid}").stat()
    user = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": ()}
    command = ["prlimit", f"--pid={pid}", f"--fsize={most}:"]
    subprocess.run(command, check=True, cwd="/", **(user if os.geteuid() == 0 else {}))


@contextlib.contextmanager
def small_place(place: Path, megabytes: int, *, mount: bool) -> Iterator[SmallDisk | FileLimit]:
    """A file system where it is wanted and may be made, else the limit."""
    chosen = SmallDisk(place) if mount and _mount(place, megabytes) else FileLimit()
    try:
        yield chosen
    finally:
        chosen.unmount()
