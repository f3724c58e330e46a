"""Where the other files are: beside the package in a checkout, inside it in a wheel."""

from pathlib import Path

__all__ = ["EXAMPLES", "MIGRATIONS", "SQL"]

PACKAGE = Path(__file__).resolve().parent
BUNDLED = PACKAGE / "_files"
ROOT = BUNDLED if BUNDLED.is_dir() else PACKAGE.parent

SQL = ROOT / "sql"
MIGRATIONS = ROOT / "migrations"
EXAMPLES = ROOT / "examples"
