"""``python -m service.schema.bundle``: write ``sql/bundle.sql`` and ``sql/upgrade.sql``."""

from pathlib import Path

from service.paths import MIGRATIONS, SQL
from service.schema.sources import BUNDLE, UPGRADE, bundle_text, upgrade_text

__all__ = ["main", "write"]


def write(directory: Path = SQL, migrations: Path = MIGRATIONS) -> None:
    """Write both files; nothing is touched when it is as it should be."""
    _write(directory / BUNDLE, bundle_text(directory, migrations))
    _write(directory / UPGRADE, upgrade_text(migrations))


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def main() -> None:
    """Write what belongs to this checkout."""
    write()


if __name__ == "__main__":
    main()
