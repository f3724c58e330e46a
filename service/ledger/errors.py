"""From SQLSTATEs to the few errors that the rest of the service knows."""

import asyncio
from typing import Any, NamedTuple

import asyncpg

__all__ = [
    "BatchRefused",
    "Failure",
    "InvariantBroken",
    "LedgerError",
    "LedgerFault",
    "StoreUnavailable",
    "classify",
]


class LedgerError(Exception):
    """The ledger gave no answer to a call."""


class StoreUnavailable(LedgerError):  # noqa: N818
    """No answer in time. ``cause`` is one of `CAUSES`; ``retry_after`` is in whole seconds."""

    CAUSES = ("unreachable", "busy", "timeout", "lost", "rejected")

    def __init__(self, cause: str, retry_after: int = 1) -> None:
        super().__init__(f"store unavailable: {cause}")
        self.cause = cause
        self.retry_after = retry_after


class LedgerFault(LedgerError):  # noqa: N818
    """An error that no caller can cause: a bug here or in a function of the ledger."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__(f"ledger fault, SQLSTATE {sqlstate or 'none'}")
        self.sqlstate = sqlstate


class BatchRefused(LedgerFault):
    """PA001: the batch was not an array, or has too many items."""


class InvariantBroken(LedgerFault):
    """PA002: the books don't agree. Nothing was written; a page for the owner."""


class _BatchRefusedState(asyncpg.PostgresError):  # type: ignore[misc, unused-ignore]
    """Registers PA001 with asyncpg, which else answers UnknownPostgresError."""

    sqlstate = "PA001"


class _InvariantBrokenState(asyncpg.PostgresError):  # type: ignore[misc, unused-ignore]
    """Registers PA002 with asyncpg."""

    sqlstate = "PA002"


class Failure(NamedTuple):
    """A failed attempt, and when it is safe to send the same statement again."""

    error: LedgerError
    rolled_back: bool = False
    """PostgreSQL undid it to break a tie: always safe to send again."""
    lost: bool = False
    """It may or may not have been committed: safe only for a statement that is idempotent."""

    @property
    def rejected(self) -> bool:
        """Whether the server will say the same again until somebody sees to it."""
        return isinstance(self.error, StoreUnavailable) and self.error.cause == "rejected"


# InternalClientError: the server's last words came in before the connection's end was noticed.
_LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError, ConnectionError)
_FAULTS: dict[str, type[LedgerFault]] = {"PA001": BatchRefused, "PA002": InvariantBroken}
_TIES = {"40001", "40P01"}
_TIMEOUTS = {"57014", "55P03", "25P03"}
_GONE = {"57P01", "57P02", "57P03", "57P05"}
# Shutting down, out of resources, read-only after a failover, wrong credentials, not migrated yet.
_UNAVAILABLE_CLASSES = {"08", "25", "28", "3D", "3F", "40", "42", "53", "55", "57", "58"}
# PostgreSQL has a SQLSTATE for a full disk (53100) and none for a quota or a limit on the size of
# files: those are "internal errors", told by where they come from, which no language changes.
_INTERNAL = "XX000"
_STORAGE = {"buffile.c", "fd.c", "md.c", "slru.c"}
_ENDED = {"FATAL", "PANIC"}


def classify(error: Exception) -> Failure:
    """Say what an exception of asyncpg, or of the network under it, means."""
    if isinstance(error, asyncpg.PostgresError):
        return _of_postgres(error)
    if isinstance(error, ValueError):  # an argument that asyncpg could not encode
        return Failure(LedgerFault(None))
    if isinstance(error, _LOST):
        return Failure(StoreUnavailable("lost"), lost=True)
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return Failure(StoreUnavailable("timeout"))
    if isinstance(error, OSError):
        return Failure(StoreUnavailable("unreachable"))
    return Failure(LedgerFault(None))


def _of_postgres(error: Any) -> Failure:
    if str(error.sqlstate) != _INTERNAL:
        return _of_sqlstate(str(error.sqlstate))
    if error.severity_en in _ENDED:
        return Failure(StoreUnavailable("lost"), lost=True)
    if error.server_source_filename in _STORAGE:
        return Failure(StoreUnavailable("rejected"))
    return Failure(LedgerFault(_INTERNAL))


def _of_sqlstate(sqlstate: str) -> Failure:
    if sqlstate in _TIES:
        return Failure(StoreUnavailable("busy"), rolled_back=True)
    if sqlstate in _TIMEOUTS:
        return Failure(StoreUnavailable("timeout"))
    if sqlstate in _GONE or sqlstate.startswith("08"):
        return Failure(StoreUnavailable("lost"), lost=True)
    if sqlstate[:2] in _UNAVAILABLE_CLASSES:
        return Failure(StoreUnavailable("rejected"))
    return Failure(_FAULTS.get(sqlstate, LedgerFault)(sqlstate))
