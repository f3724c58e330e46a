"""`preauth serve` with several workers: they serve together and end together."""

import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from tests.support.waits import until_sync


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.fixture
def supervisor(empty_database_url, tmp_path):
    """Two workers and their supervisor, and the URL at which they answer."""
    port = free_port()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREAUTH_")},
        "PREAUTH_DATABASE_URL": empty_database_url,
        "PREAUTH_PORT": str(port),
        "TMPDIR": str(tmp_path),
    }
    command = [sys.executable, "-m", "service.cli", "serve", "--migrate", "--workers", "2"]
    process = subprocess.Popen(command, env=environment)
    url = f"http://127.0.0.1:{port}"
    until_sync(lambda: answers(url), "the workers answer", seconds=60)
    yield process, url
    process.kill()
    process.wait()


@pytest.mark.e2e
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_supervisor_ends_no_worker_goes_on_serving(supervisor, end):
    process, url = supervisor
    process.send_signal(end)
    process.wait(timeout=30)
    until_sync(lambda: not answers(url), "nobody answers any more")
