"""A real HTTP receiver of webhooks on this machine, which does as it is told."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from standardwebhooks.webhooks import Webhook

__all__ = ["SECRET", "Receiver"]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr"  # of the tests


@dataclass
class Receiver:
    """Answers ``status`` once ``open`` is set, and keeps what it was sent."""

    status: int = 204
    secret: str = SECRET
    open: threading.Event = field(default_factory=threading.Event)
    arrived: list[str] = field(default_factory=list)
    """The id of each request, when it comes."""
    accepted: list[tuple[str, Any]] = field(default_factory=list)
    """The id and the verified body of each request that was answered 2xx."""
    at_once: int = 0
    """So many requests are answered whether or not ``open`` is set."""
    port: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks?token=t0ken"

    @property
    def ids(self) -> list[str]:
        return [message_id for message_id, _ in self.accepted]

    @contextmanager
    def listening(self, port: int = 0) -> Iterator["Receiver"]:
        """Listen on a port of this machine; the same again after an outage."""
        server = _Server(("127.0.0.1", port), _handler(self))
        self.port = server.server_port
        self.open.set()
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.open.set()
            server.shutdown()
            server.server_close()
            thread.join()

    def take(self, headers: dict[str, str], body: bytes) -> int:
        self.arrived.append(headers["webhook-id"])
        if next(self.numbers) > self.at_once:
            self.open.wait(30)
        verified = Webhook(self.secret).verify(body, headers)
        assert verified == json.loads(body)
        if self.status < 300:
            self.accepted.append((headers["webhook-id"], verified))
        return self.status


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = receiver.take(headers, body)
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    return Handler
