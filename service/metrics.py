"""What the service counts. Every label has a closed set of values: no account, key or model id."""

import os
from typing import Final

from service import metrics_directory

metrics_directory.settle()  # prometheus_client looks while it is imported

from prometheus_client import (  # noqa: E402
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client import multiprocess as _multiprocess  # noqa: E402

__all__ = [
    "ALERTS",
    "CONTENT_TYPE",
    "DECISIONS",
    "EXCEPTIONS",
    "EXPIRED",
    "JOB_FAILURES",
    "KEY_LOOKUPS",
    "REQUEST_SECONDS",
    "STORE_SECONDS",
    "STORE_UNAVAILABLE",
    "STUCK_HOLDS",
    "STUCK_SECONDS",
    "SUCCESSES",
    "Histogram",
    "exposition",
]

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST.partition("; charset")[0]
REGISTRY: Final = CollectorRegistry(auto_describe=True)

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_CALLS = ("reserve", "settle", "release", "extend", "cancel", "charge", "resolve")

REQUEST_SECONDS: Final = Histogram(
    "preauth_request_seconds",
    "Time to answer a request, by route template, method and status.",
    ("route", "method", "status"),
    buckets=_BUCKETS,
    registry=REGISTRY,
)
DECISIONS: Final = Counter(
    "preauth_decisions_total",
    "Answers of the ledger: outcome authorized, done, denied or refused, and why.",
    ("call", "outcome", "reason"),
    registry=REGISTRY,
)
_EXCEPTIONS: Final = Counter(
    "preauth_exceptions_total",
    "Answers about spend that was not as authorized: kind overage, late, recorded, or review.",
    ("call", "kind"),
    registry=REGISTRY,
)
STORE_UNAVAILABLE: Final = Counter(
    "preauth_store_unavailable_total",
    "Calls that PostgreSQL did not answer, by cause.",
    ("cause",),
    registry=REGISTRY,
)
KEY_LOOKUPS: Final = Counter(
    "preauth_key_lookups_total",
    "How a presented API key was verified: cached, found, unknown.",
    ("result",),
    registry=REGISTRY,
)
EXPIRED: Final = Counter(
    "preauth_expired_total", "Lapsed holds that this process expired.", registry=REGISTRY
)
ALERTS: Final = Counter(
    "preauth_alerts_total",
    "Deliveries of the outbox's messages: outcome delivered or failed (to be tried again).",
    ("outcome",),
    registry=REGISTRY,
)
# What every worker measures is the same: of several the last is true, not the sum.
STUCK_HOLDS: Final = Gauge(
    "preauth_stuck_holds",
    "Holds that time will not end, by state; the 100 oldest are counted.",
    ("state",),
    registry=REGISTRY,
    multiprocess_mode="mostrecent",
)
STUCK_SECONDS: Final = Gauge(
    "preauth_stuck_oldest_seconds",
    "Time since the decision about the oldest of them; 0 where there is none.",
    ("state",),
    registry=REGISTRY,
    multiprocess_mode="mostrecent",
)
JOB_FAILURES: Final = Counter(
    "preauth_job_failures_total",
    "Rounds of a loop beside the service that failed by a fault, not for want of the store.",
    ("job",),
    registry=REGISTRY,
)
_STORE: Final = Histogram(
    "preauth_store_seconds",
    "Time of one round trip to the ledger, by call.",
    ("call",),
    buckets=_BUCKETS,
    registry=REGISTRY,
)
EXCEPTIONS: Final = {
    (call, kind): _EXCEPTIONS.labels(call, kind)
    for call, kinds in (
        ("settle", ("overage", "late", "review")),
        ("resolve", ("overage", "late", "review")),
        ("charge", ("recorded",)),
    )
    for kind in kinds
}
"""By call and kind. They are there from the start: an alert on an increase wants a 0 before it."""

SUCCESSES: Final = {
    call: DECISIONS.labels(call, "authorized" if call in {"reserve", "charge"} else "done", "none")
    for call in _CALLS
}
"""Of `DECISIONS`: what most answers are."""

STORE_SECONDS: Final = {call: _STORE.labels(call) for call in _CALLS}


def exposition() -> bytes:
    """Render the metrics, of all workers where PROMETHEUS_MULTIPROC_DIR is set."""
    if metrics_directory.VARIABLE not in os.environ:
        return generate_latest(REGISTRY)
    together = CollectorRegistry()
    _multiprocess.MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return generate_latest(together)
