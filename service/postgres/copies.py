"""A copy of PostgreSQL's programs, for a user who cannot reach the ones we have."""

import fcntl
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from service.postgres.errors import PostgresError

__all__ = ["Copy", "make_copy", "sweep"]

PREFIX = "preauth-postgresql-"
PARTS = ("bin", "lib", "share")
LOCK = "lock"
YOUNG_SECONDS = 60
PLACES = (tempfile.gettempdir(), "/var/tmp", "/run")  # noqa: S108 mkdtemp makes it safe


@dataclass(frozen=True)
class Copy:
    """One copy, in a temporary directory that only we can write to."""

    root: Path
    bin_dir: Path
    lock: int
    """A descriptor that holds its lock: when we end, however we end, the copy is abandoned."""

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self.root, ignore_errors=True)
        os.close(self.lock)


def make_copy(bin_dir: Path) -> Copy:
    """Copy the installation around ``bin_dir`` so that every user can run it."""
    installation = bin_dir.parent
    if not (installation / "share").is_dir():
        raise PostgresError(f"name a directory of programs that every user can run, not {bin_dir}")
    root = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_executable_place()))
    lock = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    package = installation.parent
    home = root / package.name / installation.name
    for part in PARTS:
        shutil.copytree(installation / part, home / part, ignore=_no_headers)
    libraries = package.parent / f"{package.name}.libs"  # where the wheel keeps its libpq
    if libraries.is_dir():
        shutil.copytree(libraries, root / libraries.name)
    _let_everyone_read(root)
    return Copy(root, home / "bin", lock)


def sweep() -> None:
    """Delete what killed launchers left; anything else stays as it is."""
    for place in {Path(place) for place in PLACES}:
        for path in place.glob(f"{PREFIX}*"):
            if _is_ours(path) and _is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return not path.is_symlink() and path.is_dir() and status.st_uid == os.geteuid()


def _is_abandoned(path: Path) -> bool:
    try:
        handle = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # not there yet, or not any more
        return path.exists() and time.time() - path.stat().st_mtime > YOUNG_SECONDS
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def _executable_place() -> str:
    """A temporary directory on a file system that lets programs run."""
    for place in PLACES:
        if Path(place).is_dir() and not os.statvfs(place).f_flag & os.ST_NOEXEC:
            return place
    raise PostgresError("no temporary directory allows programs to run")


def _no_headers(_directory: str, names: list[str]) -> set[str]:
    return {name for name in names if name in {"doc", "pgxs", "pkgconfig"} or name.endswith(".a")}


def _let_everyone_read(root: Path) -> None:
    root.chmod(0o755)
    for path in root.rglob("*"):
        if path.name != LOCK and not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
