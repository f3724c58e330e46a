"""Text as PostgreSQL and a terminal take it. JSON and YAML can escape half of a surrogate pair."""

__all__ = ["HALF_A_PAIR", "is_text", "printable"]

HALF_A_PAIR = "half of a surrogate pair"


def is_text(value: str) -> bool:
    """Whether it can be encoded."""
    return value.isascii() or value == value.encode(errors="ignore").decode()


def printable(value: str) -> str:
    """With what cannot be encoded as an escape."""
    return value.encode(errors="backslashreplace").decode()
