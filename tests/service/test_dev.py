"""The watch over the embedded PostgreSQL outlives whatever a start runs into."""

import threading

import psycopg

from service import dev


class Stopped:
    """A server that is down, and whose first starts fail."""

    def __init__(self, *failures):
        self.failures = list(failures)
        self.running = False
        self.started = threading.Event()

    def start(self, *, end_with_thread):
        if self.failures:
            raise self.failures.pop(0)
        self.running = True
        self.started.set()


def test_a_start_that_fails_in_a_way_that_nobody_foresaw_is_tried_again(monkeypatch):
    """PostgreSQL killed again while its database is looked for is no PostgresError."""
    monkeypatch.setattr(dev, "LOOK_SECONDS", 0.01)
    server = Stopped(psycopg.OperationalError("server closed the connection"), ValueError("odd"))
    with dev._kept_alive(server):
        assert server.started.wait(10)
