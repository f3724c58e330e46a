"""What can go wrong with a PostgreSQL of our own."""

__all__ = ["AlreadyRunningError", "PostgresError"]


class PostgresError(RuntimeError):
    """PostgreSQL could not be prepared, started or stopped; the message says what to do."""


class AlreadyRunningError(PostgresError):
    """Another process runs a PostgreSQL on this data directory."""
