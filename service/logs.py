"""JSON lines on standard output, one a request, never with what a caller sent."""

import asyncio
import logging
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog

__all__ = ["access", "configure"]

_encoder = msgspec.json.Encoder(enc_hook=repr)
_encode, _encode_lines = _encoder.encode, _encoder.encode_lines


def configure(level: str = "info") -> None:
    """Send structlog's lines, and those of the standard library, to standard output as JSON."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.EventRenamer("event"),
            _render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=_Stdout,
        cache_logger_on_first_use=True,
    )
    _access_lines.wanted = logging.getLevelName(level.upper()) <= logging.INFO
    _adopt_standard_library(level)


class _AccessLine(msgspec.Struct, kw_only=True, gc=False):
    """A request in the log; a field that is not set is left out."""

    event: str = "request"
    level: str = "info"
    timestamp: datetime
    method: str
    route: str
    status: int
    milliseconds: float
    request_id: str
    traceparent: str | msgspec.UnsetType = msgspec.UNSET


class _AccessLines:
    """Access lines of one turn of the event loop, written together."""

    def __init__(self) -> None:
        self.wanted = True
        self._lines: list[_AccessLine] = []

    def add(self, line: _AccessLine) -> None:
        self._lines.append(line)
        if len(self._lines) == 1:
            asyncio.get_running_loop().call_soon(self._write)

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        sys.stdout.buffer.write(_encode_lines(lines))
        sys.stdout.buffer.flush()


_access_lines = _AccessLines()


def access(  # noqa: PLR0917
    method: str, route: str, status: int, seconds: float, request_id: bytes, trace: bytes | None
) -> None:
    """Write one access line, at level info."""
    if _access_lines.wanted:
        line = _AccessLine(
            timestamp=datetime.now(UTC),
            method=method,
            route=route,
            status=status,
            milliseconds=round(seconds * 1000, 3),
            request_id=request_id.decode(),
        )
        if trace is not None:
            line.traceparent = trace.decode()
        _access_lines.add(line)


class _Stdout:
    """Writes each line at once and whole, to whatever standard output is at that moment."""

    def __init__(self, *_names: Any) -> None:
        pass

    def msg(self, line: bytes) -> None:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()

    debug = info = warning = error = critical = msg


class _JsonFormatter(logging.Formatter):
    """For uvicorn's and other libraries' lines. Tracebacks stay out: they may quote values."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": structlog.processors.TimeStamper(fmt="iso", utc=True)(None, "", {})[
                "timestamp"
            ],
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        return _encode(line).decode()


def _adopt_standard_library(level: str) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error"):
        _hand_over(logging.getLogger(name), level)
    access = logging.getLogger("uvicorn.access")
    access.handlers.clear()
    access.propagate = False


def _hand_over(logger: logging.Logger, level: str) -> None:
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(level.upper())


def _render(_logger: Any, _method: str, line: Any) -> bytes:
    return _encode(line)
