"""``preauth dev`` as a real process: started, stopped, killed, and started again."""

import os
import signal
import subprocess
import sys
import tempfile
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Self

import httpx

from service.paths import SQL
from service.postgres.home import free_port
from service.postgres.processes import postmaster_status, processes_in
from tests.support.waits import until_sync

__all__ = ["Daemon"]

ROOT = SQL.parent
START_SECONDS = 120


class Daemon:
    """One service with its own PostgreSQL under ``directory``; nothing of it is shared."""

    key = "the-admin-key-of-the-tests-0123456789"

    def __init__(self, directory: Path, **settings: str) -> None:
        self.directory = directory
        self.data_dir = directory / "data"
        self.port = free_port()
        self.log = directory / "service.log"
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def postgres_data(self) -> Path:
        return self.data_dir / "postgres" / "data"

    @property
    def postmaster(self) -> int:
        """The postmaster's pid; 0 when there is none."""
        return postmaster_status(self.postgres_data)[0]

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def left_running(self) -> list[int]:
        """PostgreSQL processes that still work in the data directory."""
        return processes_in(self.postgres_data)

    def start(self) -> Self:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "service.cli", "dev"],
                cwd=self.directory,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until_sync(self.ready, "the service is ready", seconds=START_SECONDS)
        return self

    def _environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PREAUTH_")}
        chosen = {
            "PREAUTH_HOST": "127.0.0.1",
            "PREAUTH_PORT": str(self.port),
            "PREAUTH_DATA_DIR": str(self.data_dir),
            "PREAUTH_ADMIN_KEY": self.key,
            **self._settings,
        }
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        return {**inherited, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **chosen}

    def ready(self) -> bool:
        """Whether it answers that it is ready; fails when it has ended instead."""
        assert self.running, self.log.read_text(errors="replace")[-4000:]
        probe = HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            probe.request("GET", "/readyz")
            return probe.getresponse().status == httpx.codes.OK
        except (OSError, HTTPException):
            return False
        finally:
            probe.close()

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=30)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def stop(self) -> int:
        """SIGTERM, and wait; its exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60)

    def kill(self) -> None:
        """SIGKILL both: PostgreSQL in full flight, then the service, with no chance to tidy up."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)  # so that it cannot restart what is killed
        self.kill_postgres()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)

    def kill_postgres(self) -> None:
        """SIGKILL the postmaster."""
        postmaster = self.postmaster
        assert postmaster in self.left_running()
        os.kill(postmaster, signal.SIGKILL)

    def end(self) -> None:
        """However it stands, nothing is left of its processes."""
        if self.running:
            self.stop()
        for pid in self.left_running():
            os.kill(pid, signal.SIGKILL)

    @classmethod
    def scratch(cls) -> "tempfile.TemporaryDirectory[str]":
        """A directory for one, that every user may enter (PostgreSQL refuses to run as root)."""
        return tempfile.TemporaryDirectory(prefix="preauth-e2e-", ignore_cleanup_errors=True)
