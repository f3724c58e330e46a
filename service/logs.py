"""JSON lines on standard output, one a request, never with what a caller sent."""

import logging
import sys
from typing import Any

import msgspec
import structlog

__all__ = ["configure"]

_encode = msgspec.json.Encoder(enc_hook=repr).encode


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
    _adopt_standard_library(level)


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
