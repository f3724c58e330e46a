"""Problem details (RFC 9457): every refusal that the service itself makes, and how each is sent."""

import json
from typing import Any, NamedTuple

import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, InternalServerException

from service import metrics
from service.api import vendors
from service.api.operation import Operation
from service.ledger import LedgerFault, Outcome, StoreUnavailable

__all__ = [
    "CODES",
    "MEDIA_TYPE",
    "TYPE_BASE",
    "Fault",
    "Problem",
    "answer_exception",
    "malformed",
    "outcome_of",
    "problem_of",
]

MEDIA_TYPE = "application/problem+json"
TYPE_BASE = "https://preauth.dev/problems/"

MOST_FAULTS = 20
LONGEST_PATH = 200

CODES: dict[str, tuple[int, str]] = {
    "malformed": (400, "The request is malformed"),
    "unauthenticated": (401, "No valid API key"),
    "forbidden": (403, "This key may not do that"),
    "not_found": (404, "No such resource"),
    "reservation_unknown": (404, "No such reservation"),
    "account_unknown": (404, "No such account"),
    "plan_unknown": (404, "No such plan"),
    "budget_unknown": (404, "No such budget"),
    "key_unknown": (404, "No such key"),
    "price_table_unknown": (404, "No such price table"),
    "window_unknown": (404, "No such window"),
    "raise_unknown": (404, "No such raise"),
    "method_not_allowed": (405, "The method is not allowed here"),
    "request_id_conflict": (409, "The request_id was used for another request"),
    "settlement_conflict": (409, "It was settled with other usage"),
    "settlement_exceeds_hold": (409, "The usage exceeds the hold"),
    "not_authorized": (409, "The reservation was denied"),
    "already_settled": (409, "The reservation is settled"),
    "already_released": (409, "The reservation was released"),
    "hold_lapsed": (409, "The hold has lapsed"),
    "holds_open": (409, "The account has open holds"),
    "not_denied": (409, "The reservation was authorized"),
    "account_id_required": (409, "The request_id names several reservations"),
    "price_table_conflict": (409, "A published price table never changes"),
    "too_large": (413, "The request is too large"),
    "price_missing": (422, "The model has no price"),
    "dimension_unpriced": (422, "A dimension has no price"),
    "dimension_unbounded": (422, "A dimension has no bound"),
    "usage_unrecognised": (422, "The provider's usage is not understood"),
    "amount_missing": (422, "An amount is missing"),
    "amount_out_of_range": (422, "The window cannot count that far"),
    "reference_unknown": (422, "The request names something that does not exist"),
    "parent_cycle": (422, "An account cannot be below itself"),
    "account_too_deep": (422, "The account tree is too deep"),
    "denied": (429, "The account may not spend that much"),
    "internal": (500, "Internal error"),
    "store_unavailable": (503, "The store is unavailable"),
    "not_ready": (503, "Not ready"),
}
"""Every code that ends a problem's ``type``: its status and its title. See docs/errors.md."""

_BY_STATUS = {400: "malformed", 401: "unauthenticated", 403: "forbidden", 404: "not_found",
              405: "method_not_allowed", 413: "too_large", 503: "store_unavailable"}  # fmt: skip

_log = structlog.get_logger("preauth.problems")


class Fault(NamedTuple):
    """One thing wrong with a request: where (a path in the body, the query or a header), what."""

    path: str
    message: str

    def as_json(self) -> dict[str, str]:
        """The member of ``errors``; safe to encode, whatever the caller sent."""
        return {"path": _printable(self.path), "message": _printable(self.message)}


class Problem(Exception):  # noqa: N818  # it is one, and is sent as one
    """A refusal: one of `CODES`, a sentence for a person, further members, header fields."""

    def __init__(
        self, code: str, detail: str, *, headers: dict[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.headers = headers or {}
        self.members = members

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return CODES[self.code][0]

    def as_json(self) -> dict[str, Any]:
        """The problem document."""
        status, title = CODES[self.code]
        return {
            "type": TYPE_BASE + self.code,
            "title": title,
            "status": status,
            "detail": self.detail,
            **self.members,
        }


def malformed(faults: list[Fault]) -> Problem:
    """A 400 that names each faulty field; the first `MOST_FAULTS` of them."""
    where = _printable(faults[0].path) or "the body"
    detail = f"{where}: {_printable(faults[0].message)}"
    return Problem("malformed", detail, errors=[fault.as_json() for fault in faults[:MOST_FAULTS]])


def outcome_of(problem: Problem) -> Outcome:
    """A problem in the form in which the ledger's own answers come."""
    return Outcome(problem.status, problem.headers, json.dumps(problem.as_json()).encode())


def answer_exception(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Litestar's exception handler for everything."""
    vendor = vendors.wanted(request.scope, _operation(request.scope))
    outcome = vendors.dress(outcome_of(problem_of(error)), vendor)
    return Response(
        outcome.body,
        status_code=outcome.status,
        headers=outcome.headers,
        media_type=vendors.media_type(outcome, vendor),
    )


def _operation(scope: Any) -> Operation | None:
    """None where no route was found."""
    return scope["route_handler"].opt.get("operation") if "route_handler" in scope else None


def problem_of(error: Exception) -> Problem:
    """What is said of an exception; one that nobody foresaw is logged."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, StoreUnavailable):
        return _unavailable(error)
    if isinstance(error, HTTPException) and not isinstance(error, InternalServerException):
        return _of_http(error)
    return _internal(error)


def _unavailable(error: StoreUnavailable) -> Problem:
    metrics.STORE_UNAVAILABLE.labels(error.cause).inc()
    return Problem(
        "store_unavailable",
        "Nothing was authorized. The same request_id is safe to send again.",
        headers={"Retry-After": str(error.retry_after)},
    )


def _of_http(error: HTTPException) -> Problem:
    code = _BY_STATUS.get(error.status_code, "malformed")
    if code == "malformed":
        return malformed([Fault("", "the request could not be read")])
    return Problem(code, _SENTENCES[code], headers=_allowed(error))


def _allowed(error: HTTPException) -> dict[str, str]:
    allowed = (error.headers or {}).get("allow")
    return {"Allow": ", ".join(sorted(allowed.split(", ")))} if allowed else {}


_SENTENCES = {
    "not_found": "Nothing is served at this path; see /openapi.json.",
    "method_not_allowed": "See the Allow header.",
    "too_large": "A request body may have 65536 bytes.",
    "unauthenticated": "Send Authorization: Bearer with an API key.",
    "forbidden": "The API key does not allow this.",
    "store_unavailable": "Nothing was authorized. The same request_id is safe to send again.",
}


def _internal(error: Exception) -> Problem:
    if str(error).endswith("client disconnected prematurely"):
        return malformed([Fault("", "the client went away")])
    # Neither the exception's text nor its values: they may hold what a caller sent.
    sqlstate = error.sqlstate if isinstance(error, LedgerFault) else None
    _log.error("internal_error", kind=type(error).__name__, sqlstate=sqlstate, at=_origin(error))
    return Problem("internal", "The error was logged. Nothing is known about what was written.")


def _origin(error: Exception) -> str | None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else None


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:LONGEST_PATH]
