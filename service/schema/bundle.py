"""``python -m service.schema.bundle``: write ``sql/bundle.sql``."""

from service.paths import SQL
from service.schema.sources import BUNDLE, bundle_text

__all__ = ["main"]


def main() -> None:
    """Write the bundle; nothing is touched when it is as it should be."""
    path = SQL / BUNDLE
    text = bundle_text()
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
