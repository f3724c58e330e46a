"""A service of one's own for the tests that start, stop and kill it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """A service in a fresh directory, not started yet; nothing of it outlives the test."""
    with Daemon.scratch() as directory:
        daemon = Daemon(Path(directory))
        yield daemon
        daemon.end()
        assert daemon.left_running() == []
