"""What the command line tells of an error: a line that names what to mend, and never a password."""

import psycopg
import sqlalchemy
from alembic.script.revision import ResolutionError
from alembic.util import CommandError

from service.database_url import DatabaseUrlError
from service.metrics_directory import MetricsDirectoryError
from service.migrate import remedy
from service.postgres import PostgresError
from service.settings import EnvironmentRefusedError

__all__ = ["complaint_of"]

_TOLD_BY_THEMSELVES = (
    DatabaseUrlError,
    EnvironmentRefusedError,
    MetricsDirectoryError,
    PostgresError,
)
_MIGRATING = frozenset({"dev", "migrate", "restore", "serve"})
_OWNER = (
    "a superuser, or one who may create schemas in the database and is a member of preauth_owner"
    " (or has CREATEROLE, where that role is not there yet)"
)
_SERVICE = "a member of preauth_service"
_READER = "a member of preauth_service or preauth_audit"


def complaint_of(error: Exception, command: str | None) -> str | None:
    """A line about an error that ``preauth <command>`` ended with; None if it is a defect."""
    if isinstance(error, sqlalchemy.exc.DBAPIError) and isinstance(error.orig, Exception):
        error = error.orig
    if isinstance(error, CommandError):
        return _of_revisions(error)
    if isinstance(error, _TOLD_BY_THEMSELVES):
        return str(error)
    return _of_database(error, command) if isinstance(error, psycopg.Error) else None


def _of_revisions(error: CommandError) -> str | None:
    cause = error.__cause__
    if not isinstance(cause, ResolutionError):
        return None
    return f"the ledger is at revision {cause.argument}: {remedy(cause.argument)}"


def _of_database(error: psycopg.Error, command: str | None) -> str | None:
    what = error.diag.message_primary
    match error:
        case psycopg.OperationalError():
            return "; ".join(filter(None, map(str.strip, str(error).splitlines())))
        case psycopg.errors.InvalidSchemaName() | psycopg.errors.UndefinedFunction():
            return f"{what}: run preauth migrate"
        case psycopg.errors.InsufficientPrivilege():
            return f"{what}: the user of PREAUTH_DATABASE_URL must be {_needed(command)}"
        case psycopg.errors.ReadOnlySqlTransaction():
            return f"{what}: PREAUTH_DATABASE_URL must name a primary"
    return None


def _needed(command: str | None) -> str:
    if command in _MIGRATING:
        return _OWNER
    return _READER if command == "verify" else _SERVICE
