"""``preauth serve`` as a real process over a database of one's own."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import httpx

from service.paths import SQL
from service.postgres.home import free_port
from tests.support.waits import until_sync

__all__ = ["Served"]


class Served:
    """So many workers, and their supervisor where there is more than one."""

    def __init__(
        self, database_url: str, directory: Path, workers: int, settings: dict[str, str]
    ) -> None:
        self.database_url = database_url
        self.workers = workers
        self.port = free_port()
        self.log = directory / "service.log"
        self.process: subprocess.Popen[bytes]
        self._environment = {
            **{
                name: value for name, value in os.environ.items() if not name.startswith("PREAUTH_")
            },
            "PREAUTH_DATABASE_URL": database_url,
            "PREAUTH_PORT": str(self.port),
            "PYTHONPATH": str(SQL.parent),
            "TMPDIR": str(directory),
            **settings,
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "service.cli", "serve", "--migrate"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--workers", str(self.workers)],
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        until_sync(self.answers, "the service answers", seconds=60)
        return self

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def kill_a_worker(self) -> None:
        """SIGKILL one. A supervisor puts another in its place; a worker on its own is started again."""
        if self.workers > 1:
            os.kill(random.choice(self._workers()), signal.SIGKILL)
        else:
            self.end()
            self.start()

    def _workers(self) -> list[int]:
        """The supervisor's children that serve: one more keeps track of shared resources."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(c) for c in children if "spawn_main" in Path(f"/proc/{c}/cmdline").read_text()]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
