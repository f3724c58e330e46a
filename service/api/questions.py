"""A question to the audit: its parameters checked, its answer as JSON or CSV."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from litestar import Response

from service.api.answers.audit import columns
from service.api.calls import AnyRequest, answer, ledger_of, operation_of
from service.api.csv_answer import MEDIA_TYPE, csv_of
from service.api.instants import instant as instant_in
from service.api.operation import Parameter
from service.api.problems import TYPE_BASE, Fault, malformed
from service.api.query import parameters
from service.api.values import ID_PATTERN
from service.ledger import Outcome

__all__ = ["choice", "count", "cursor", "identifier", "instant", "listing", "reply", "text"]

FORMAT = Parameter(
    "format",
    "csv: the items as CSV. So does Accept: text/csv.",
    {"type": "string", "enum": ["json", "csv"]},
)
_WHOLE = re.compile(r"[0-9]{1,9}")


def identifier(name: str, description: str, *, required: bool = False) -> Parameter:
    """A parameter that is an id."""
    return Parameter(name, description, {"type": "string", "pattern": ID_PATTERN}, required)


def instant(name: str, description: str, *, required: bool = False) -> Parameter:
    """A parameter that is a time."""
    return Parameter(name, description, {"type": "string", "format": "date-time"}, required)


def choice(name: str, description: str, *values: str) -> Parameter:
    """A parameter that is one of a few words."""
    return Parameter(name, description, {"type": "string", "enum": list(values)})


def text(name: str, description: str) -> Parameter:
    """A parameter that the ledger judges."""
    return Parameter(name, description, {"type": "string", "minLength": 1, "maxLength": 200})


def count(name: str, description: str, least: int, most: int) -> Parameter:
    """A parameter that is a whole number."""
    return Parameter(name, description, {"type": "integer", "minimum": least, "maximum": most})


def listing(*more: Parameter) -> tuple[Parameter, ...]:
    """The parameters of a list."""
    return (
        *more,
        count("max_count", "Most items on a page.", 1, 500),
        cursor(),
        FORMAT,
    )


def cursor() -> Parameter:
    """Where a page begins."""
    return text("cursor", "The next_cursor of the page before.")


async def reply(request: AnyRequest, question: str) -> Response[bytes]:
    """Ask the ledger's ``audit_<question>`` and send what it says.

    Raises:
        Problem: 400 when a parameter makes no sense, to us or to the ledger.
    """
    operation = operation_of(request)
    query = parameters(request.scope, operation)
    wanted = {parameter.name: parameter.schema for parameter in operation.query}
    faults = [fault for name, value in query.items() for fault in _faults(name, value, wanted)]
    if faults:
        raise malformed(faults)
    as_csv = _wants_csv(request, query)
    query.pop("format", None)
    outcome = await ledger_of(request).audit(question, _in_utc(query, wanted))
    if outcome.is_problem:
        _refuse_by_parameter(outcome)
        return answer(request, outcome)
    return _dressed(request, outcome, query, as_csv=as_csv)


def _refuse_by_parameter(outcome: Outcome) -> None:
    """The ledger names its arguments: here they are parameters of the query."""
    found = json.loads(outcome.body)
    if found["type"] == f"{TYPE_BASE}malformed":
        raise malformed([Fault(f"query.{e['path']}", e["message"]) for e in found["errors"]])


def _dressed(
    request: AnyRequest, outcome: Outcome, query: dict[str, str], *, as_csv: bool
) -> Response[bytes]:
    found = json.loads(outcome.body)
    headers = {"Vary": "Accept", **_link(request, found.get("next_cursor"), query, as_csv=as_csv)}
    body, kind = outcome.body, "application/json"
    if as_csv:
        (model,) = operation_of(request).answers.values()
        body, kind = csv_of(found["items"], columns(model)), MEDIA_TYPE
    return Response(body, headers=headers, media_type=kind)


def _link(
    request: AnyRequest, cursor: str | None, query: dict[str, str], *, as_csv: bool
) -> dict[str, str]:
    """The next page (RFC 8288): CSV has no other place for it."""
    if cursor is None:
        return {}
    kept = {**query, "cursor": cursor, **({"format": "csv"} if as_csv else {})}
    return {"Link": f'<{request.url.path}?{urlencode(kept)}>; rel="next"'}


def _wants_csv(request: AnyRequest, query: dict[str, str]) -> bool:
    accepted = request.headers.get("accept", "").partition(",")[0].partition(";")[0].strip()
    return query.get("format", "csv" if accepted == MEDIA_TYPE else "json") == "csv"


def _faults(name: str, value: str, wanted: dict[str, dict[str, Any]]) -> list[Fault]:
    message = _message(value, wanted[name])
    return [Fault(f"query.{name}", message)] if message else []


def _message(value: str, schema: dict[str, Any]) -> str | None:
    for key, check in _CHECKS.items():
        if key in schema and (message := check(value, schema)):
            return message
    return None


def _outside(value: str, schema: dict[str, Any]) -> str | None:
    least, most = schema["minimum"], schema["maximum"]
    if _WHOLE.fullmatch(value) and least <= int(value) <= most:
        return None
    return f"must be a whole number from {least} to {most}"


def _no_time(value: str, _: dict[str, Any]) -> str | None:
    try:
        instant_in(value.upper())
    except ValueError:
        return "must be a time with its offset, such as 2026-09-14T12:00:00Z"
    return None


def _in_utc(query: dict[str, str], wanted: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The query with its times in UTC: PostgreSQL reads no offset of 16 hours or more."""
    return {
        name: instant_in(value.upper()).isoformat() if "format" in wanted[name] else value
        for name, value in query.items()
    }


_CHECKS: dict[str, Callable[[str, dict[str, Any]], str | None]] = {
    "minimum": _outside,
    "format": _no_time,
    "enum": lambda value, schema: (
        None if value in schema["enum"] else f"must be {' or '.join(schema['enum'])}"
    ),
    "pattern": lambda value, schema: (
        None
        if re.fullmatch(schema["pattern"], value) and not value.endswith("\n")
        else "must be 1 to 128 characters of A-Z a-z 0-9 _ . : @ / -"
    ),
    "maxLength": lambda value, schema: (
        None
        if 0 < len(value) <= schema["maxLength"] and "\x00" not in value
        else "must be 1 to 200 characters"
    ),
}
