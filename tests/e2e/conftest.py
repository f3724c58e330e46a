"""A service of one's own for the tests that start, stop and kill it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.served import Served


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """A service in a fresh directory, not started yet; nothing of it outlives the test."""
    with Daemon.scratch() as directory:
        daemon = Daemon(Path(directory))
        yield daemon
        daemon.end()
        assert daemon.left_running() == []


@pytest.fixture
def serve(empty_database_url: str, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts `preauth serve` with so many workers and settings; it does not outlive the test."""
    started: list[Served] = []

    def start(workers: int, **settings: str) -> Served:
        started.append(Served(empty_database_url, tmp_path, workers, settings))
        return started[-1].start()

    yield start
    for served in started:
        served.end()
