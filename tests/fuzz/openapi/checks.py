"""What schemathesis cannot know of this API: loaded by it as its hooks (see schemathesis.toml)."""

import json
import re
from typing import Any

import jsonschema_rs
import schemathesis

__all__ = ["each_item_of_a_batch_is_answered_as_alone", "malformed_only_where_no_schema_can_say_so"]

BEYOND_SCHEMAS = [
    r"must equal (request_id|idempotency_key)",
    r"cannot stand for several requests",
    r"must be the next_cursor of the page before",
    r"must be in the future",
    r"must be (after|later than) since",
    r"must be 0: the first tier begins there",
    r"overlaps the tier before it",
    r"must price the same dimensions as the first tier",
    r"is no dimension that can be priced",
    r"is (the model itself|the name of an earlier budget too|the wrong table itself)",
    r"is not a field of a rate in .*",
    r"must be an IANA time zone, such as .*",
    r"must be left out where .*",
    r"must be there where .*",
    r"must be given when by names label, and only then",
    r"must name day, account, model or label",
    r"must divide the period into slices of whole milliseconds",
    r"does not belong to such a window",
    r"is instead of apply",
    r"is for (soft budgets|the role spend) only",
    r"is only for windows that end: .*",
    r"is required, or (usage|max_usage).*",
    r"is required to settle, or usage",
]
"""Rules between two members, between the request and the ledger, or of a small language."""

WHOLE = "Input should be a valid integer"
MULTI_STATUS = 207


@schemathesis.check
def malformed_only_where_no_schema_can_say_so(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
) -> None:
    """A request that fits the document is a 400 for nothing that the document could have said."""
    if (
        case.meta is None
        or not case.meta.generation.mode.is_positive
        or response.status_code != 400
    ):
        return
    for fault in _errors(response.json()):
        path, message = fault["path"], fault["message"]
        if message == WHOLE and isinstance(_at(case.body, path), float):
            continue  # to JSON Schema 7.0 is an integer, to the contract it is none
        assert any(re.fullmatch(rule, message) for rule in BEYOND_SCHEMAS), fault


def _errors(body: dict[str, Any]) -> list[dict[str, str]]:
    """Of a problem, or of one in a vendor's envelope."""
    errors: list[dict[str, str]] = (body["error"]["details"] if "error" in body else body)["errors"]
    return errors


def _at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


@schemathesis.check
def each_item_of_a_batch_is_answered_as_alone(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
) -> None:
    """Each entry of a 207 has a status that the operation declares, and a body of its schema."""
    if response.status_code != MULTI_STATUS:
        return
    document = case.operation.schema.raw_schema
    declared = document["paths"][case.operation.path][case.operation.method]["responses"]
    entries = response.json()
    assert len(entries) == len(case.body)
    for entry in entries:
        assert entry["status"] < 500, entry
        content = declared[str(entry["status"])]["content"]
        kind = "application/json" if entry["status"] < 400 else "application/problem+json"
        _validate({**content[kind]["schema"], "components": document["components"]}, entry)


def _validate(schema: dict[str, Any], entry: dict[str, Any]) -> None:
    try:
        jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(entry["body"])
    except jsonschema_rs.ValidationError as error:
        raise AssertionError(f"{json.dumps(entry)}: {error}") from None
