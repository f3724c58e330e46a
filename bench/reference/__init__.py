"""What the ledger is measured against."""

from pathlib import Path

FLOOR = Path(__file__).parent / "floor.sql"
"""Tables and functions of the references, in schema ``bench``."""

ROWS = Path(__file__).parent / "rows.sql"
"""A function more, for a database that has the floor and a seeded ledger."""
