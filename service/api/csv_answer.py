"""A list as CSV (RFC 4180): one row an item, what is nested as JSON."""

import csv
import io
import json
from typing import Any

__all__ = ["MEDIA_TYPE", "csv_of"]

MEDIA_TYPE = "text/csv"

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet takes for a formula: a caller's label must be none."""


def csv_of(items: list[dict[str, Any]], columns: list[str]) -> bytes:
    """A header line, then a row an item."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(item.get(name)) for name in columns] for item in items)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """What is null is empty; numbers are themselves, and so is text that no sheet would run."""
    if isinstance(value, (bool, dict, list)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
