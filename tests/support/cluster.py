"""The PostgreSQL cluster of a test run, started through the product's own launcher.

It has Supabase's roles; tests/schema/test_roles.py has clusters without them.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import Self

from service.postgres import PostgresServer
from tests.support import profile
from tests.support.supabase import make_roles

__all__ = ["Cluster"]

OPTIONS = {
    "max_connections": "400",
    "shared_buffers": "128MB",
    # Tests that kill it have a cluster of their own, which syncs as in production.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "deadlock_timeout": "200ms",
}
PLACEHOLDER = "placeholder"
MEMORY = "/dev/shm"
ROOM = 2 * 2**30
"""Of memory: far more than all databases that are there at once."""


@dataclass
class Cluster:
    """Where the cluster is; the process that started it has its directory and server too."""

    pattern: str
    """A URL with a placeholder for the database's name."""
    cloning: str = "wal_log"
    """``file_copy`` waits for two checkpoints, which are quick where there is no disk."""
    _server: PostgresServer | None = field(default=None, repr=False)
    _directory: "tempfile.TemporaryDirectory[str] | None" = field(default=None, repr=False)

    @classmethod
    def start(cls) -> Self:
        memory = _memory()
        directory = tempfile.TemporaryDirectory(
            prefix="preauth-tests-", dir=memory, ignore_cleanup_errors=True
        )
        server = PostgresServer(
            directory.name,
            os.environ.get("PREAUTH_TEST_PG_BIN") or None,
            options={**OPTIONS, **(profile.OPTIONS if profile.is_on() else {})},
        )
        server.start()
        make_roles(server.dsn_for("postgres"))
        cloning = "file_copy" if memory else "wal_log"
        return cls(server.dsn_for(PLACEHOLDER), cloning, server, directory)

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop("immediate")
        if self._directory is not None:
            self._directory.cleanup()

    @property
    def location(self) -> dict[str, str]:
        """What another process needs to reach it."""
        return {"pattern": self.pattern, "cloning": self.cloning}

    def url(self, database: str) -> str:
        return self.pattern.replace(PLACEHOLDER, database)


def _memory() -> str | None:
    """Where files cost least: a test's database is four hundred of them, made and removed."""
    there = os.path.ismount(MEMORY) and os.access(MEMORY, os.W_OK)
    return MEMORY if there and shutil.disk_usage(MEMORY).free >= ROOM else None
