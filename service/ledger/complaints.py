"""What keeps the database from answering, told to the log: once, not once a call."""

import asyncio
from typing import Any

import structlog

__all__ = ["Complaints"]

AGAIN_SECONDS = 60.0
"""Until the same is told again while it lasts, for a log that is read from now on."""


class Complaints:
    """Remembers what was told, by kind and SQLSTATE."""

    def __init__(self) -> None:
        self._log: Any = structlog.get_logger("preauth.ledger")
        self._quiet_until: dict[tuple[str, str | None], float] = {}

    def tell(self, error: BaseException) -> None:
        """Log an error's class and SQLSTATE. Never its text: that may repeat the URL."""
        kind, sqlstate = type(error).__name__, getattr(error, "sqlstate", None)
        now = asyncio.get_running_loop().time()
        if now < self._quiet_until.get((kind, sqlstate), now):
            return
        self._quiet_until[kind, sqlstate] = now + AGAIN_SECONDS
        self._log.warning("database_unavailable", kind=kind, sqlstate=sqlstate)
