"""The error envelopes of OpenAI and Anthropic, for clients that only know how to read those."""

import json
from typing import Any
from urllib.parse import parse_qs

from service.api.operation import Operation
from service.ledger import Outcome

__all__ = ["FORMATS", "dress", "envelope", "media_type", "wanted"]

FORMATS = ("openai", "anthropic")

_PLAIN = {"type", "title", "status", "detail"}

_OPENAI = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    429: "insufficient_quota",
    500: "server_error",
    503: "server_error",
}
_ANTHROPIC = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
}


def wanted(scope: Any, operation: Operation | None) -> str | None:
    """The vendor's format that the query asks for, where the operation knows formats."""
    query = scope["query_string"]
    if b"error_format" not in query:
        return None
    if operation is None or not operation.vendor_errors:
        return None
    chosen = parse_qs(query.decode("latin-1")).get("error_format", [])
    return chosen[0] if len(chosen) == 1 and chosen[0] in FORMATS else None


def dress(outcome: Outcome, vendor: str | None) -> Outcome:
    """Put a denial or an error into the vendor's envelope; anything else stays as it is."""
    if vendor is None or not outcome.is_problem:
        return outcome
    body = json.dumps(envelope(vendor, json.loads(outcome.body))).encode()
    return outcome._replace(body=body)


def media_type(outcome: Outcome, vendor: str | None) -> str:
    """The content type of an outcome: an envelope is JSON but no problem document."""
    plain = not outcome.is_problem or vendor is not None
    return "application/json" if plain else "application/problem+json"


def envelope(vendor: str, problem: dict[str, Any]) -> dict[str, Any]:
    """The vendor's error object for a problem document."""
    make = _openai if vendor == "openai" else _anthropic
    return make(problem)


def _openai(problem: dict[str, Any]) -> dict[str, Any]:
    kind = _OPENAI.get(problem["status"], "invalid_request_error")
    error = _common(problem)
    return {"error": {"type": kind, "param": _param(problem), "code": _code(problem), **error}}


def _anthropic(problem: dict[str, Any]) -> dict[str, Any]:
    kind = _ANTHROPIC.get(problem["status"], "invalid_request_error")
    return {"type": "error", "error": {"type": kind, **_common(problem)}}


def _common(problem: dict[str, Any]) -> dict[str, Any]:
    details = {name: value for name, value in problem.items() if name not in _PLAIN}
    return {"message": problem["detail"], "details": {"problem": _problem_code(problem), **details}}


def _code(problem: dict[str, Any]) -> str:
    """The reason of a denial, the code of an error."""
    return str(problem.get("reason") or _problem_code(problem))


def _problem_code(problem: dict[str, Any]) -> str:
    return str(problem["type"]).rpartition("/")[2]


def _param(problem: dict[str, Any]) -> str | None:
    errors = problem.get("errors")
    return errors[0]["path"] or None if errors else None
