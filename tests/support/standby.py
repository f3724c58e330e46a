"""A streaming replica of a running PostgreSQL, to be promoted."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psycopg

from service.postgres import PostgresServer
from service.postgres.binaries import embedded_bin_dir
from service.postgres.home import Home, State

__all__ = ["Standby"]


class Standby:
    """``follows``: the TCP port by which it reaches its primary, which may be a proxy's."""

    def __init__(
        self, primary: PostgresServer, directory: Path, options: Mapping[str, str], follows: int
    ) -> None:
        self.server = PostgresServer(
            directory, os.environ.get("PREAUTH_TEST_PG_BIN") or None, options=options
        )
        _copy(primary, self.server.home, follows)
        try:
            self.server.start(end_with_thread=False)
            with psycopg.connect(self.server.dsn) as connection:
                assert connection.execute("select pg_is_in_recovery()").fetchone() == (True,)
        except BaseException:
            self.server.stop("immediate")
            raise

    def promote(self) -> PostgresServer:
        """Make it the primary; the server that it is now."""
        with psycopg.connect(self.server.dsn) as connection:
            assert connection.execute("select pg_promote()").fetchone() == (True,)
        return self.server

    def stop(self) -> None:
        """However it stands."""
        self.server.kill()
        self.server.stop("immediate")


def _copy(primary: PostgresServer, home: Home, follows: int) -> None:
    """A base backup that knows its primary, owned by who owns the primary's data."""
    home.postgres.mkdir(mode=0o700, parents=True)
    password = primary.home.read_state().password
    home.write_state(State(password=password))
    bin_dir = os.environ.get("PREAUTH_TEST_PG_BIN") or embedded_bin_dir()
    subprocess.run(
        [
            f"{bin_dir}/pg_basebackup",
            f"--pgdata={home.data}",
            f"--dbname=host=127.0.0.1 port={follows} user=postgres password={password}",
            "--write-recovery-conf",
            "--checkpoint=fast",
        ],
        check=True,
    )
    owner = primary.home.data.stat()
    for path in (home.postgres, *home.postgres.rglob("*")):
        shutil.chown(path, owner.st_uid, owner.st_gid)
