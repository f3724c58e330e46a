"""``preauth serve`` as a real process over a database of one's own."""

import contextlib
import os
import random
import signal
import subprocess
import sys
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Self

from service.paths import SQL
from service.postgres.home import free_port
from tests.support.waits import until_sync

__all__ = ["Served"]

START_SECONDS = 120


class Served:
    """So many workers, and their supervisor where there is more than one."""

    def __init__(
        self,
        database_url: str,
        directory: Path,
        workers: int,
        settings: dict[str, str],
        *,
        migrate: bool = True,
    ) -> None:
        self.database_url = database_url
        self._arguments = ["--migrate"] if migrate else []
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
        self.launch()
        until_sync(self.answers, "the service answers", seconds=START_SECONDS)
        return self

    def launch(self) -> None:
        """Start it."""
        command = [sys.executable, "-m", "service.cli", "serve", *self._arguments]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--workers", str(self.workers)],
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def answers(self) -> bool:
        probe = HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            probe.request("GET", "/readyz")
            return probe.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException):
            return False
        finally:
            probe.close()

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

    def stop(self) -> int:
        """SIGTERM, and wait; its exit status."""
        self.process.terminate()
        return self.process.wait(60)

    def end(self) -> None:
        """SIGKILL the supervisor and its workers."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
