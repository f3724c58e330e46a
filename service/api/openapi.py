"""The OpenAPI 3.1 document, made of the routes and of the models that validate them."""

import re
from collections.abc import Iterator
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from litestar.routes import HTTPRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from service.api.answers.decisions import Denial, Problem
from service.api.batches import MOST_ITEMS
from service.api.front import Service
from service.api.operation import Operation, Parameter
from service.api.problems import CODES, MEDIA_TYPE, TYPE_BASE
from service.api.values import ID_PATTERN, MAX_AMOUNT, NAME_PATTERN

__all__ = ["document"]

_REF = "#/components/schemas/{model}"
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")

_DESCRIPTION = """Authorization holds for metered spend. Reserve before the work, settle after it.

Amounts are whole numbers in the budget's unit, 0 to 2^53-1. Every call is idempotent by its
`request_id`. Errors are problem details; `type` ends in a code of `docs/errors.md`."""

_TAGS = ("Calls", "Reads", "Audit", "Administration", "Operations")

_DENIAL_FIELDS = ("RateLimit-Policy", "RateLimit")


def document(app: Service) -> dict[str, Any]:
    """The whole document."""
    routes = sorted(_routes(app), key=lambda route: route[:2])
    models = _models([route.operation for route in routes])
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": _info(),
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in _TAGS],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": models,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key of role spend, audit or admin.",
                }
            },
        },
    }


def _info() -> dict[str, Any]:
    try:
        release = version("preauth-service")
    except PackageNotFoundError:
        release = "0"
    return {
        "title": "Preauth",
        "version": release,
        "description": _DESCRIPTION,
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    }


class Route(NamedTuple):
    """One method of one path, and what is said of it."""

    path: str
    method: str
    name: str
    description: str
    operation: Operation


def _routes(app: Service) -> Iterator[Route]:
    for call in app.calls.values():
        yield Route(call.path, "post", call.call, call.description, call.operation)
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            yield from _framework_routes(route)


def _framework_routes(route: HTTPRoute) -> Iterator[Route]:
    for handler in route.route_handlers:
        operation = handler.opt.get("operation")
        if isinstance(operation, Operation):
            (method,) = handler.http_methods
            name = handler.handler_name.rpartition(".")[2]
            path = _PARAMETER.sub(r"{\1}", route.path)
            yield Route(path, method.lower(), name, (handler.fn.__doc__ or "").strip(), operation)


def _models(operations: list[Operation]) -> dict[str, Any]:
    wanted: dict[type[BaseModel], None] = {Problem: None, Denial: None}
    for operation in operations:
        wanted.update(dict.fromkeys([operation.body] if operation.body else []))
        wanted.update(dict.fromkeys(operation.answers.values()))
    _, found = models_json_schema([(model, "validation") for model in wanted], ref_template=_REF)
    schemas: dict[str, Any] = found["$defs"]
    return schemas


def _operation(route: Route) -> dict[str, Any]:
    operation = route.operation
    described: dict[str, Any] = {
        "operationId": route.name,
        "summary": operation.summary,
        "description": _describe(route),
        "tags": [operation.tag],
        "parameters": [*map(_path_parameter, _PARAMETER.findall(route.path)),
                       *map(_query_parameter, operation.parameters)],
        "responses": _responses(operation),
    }  # fmt: skip
    if not operation.roles:
        described["security"] = []
    if operation.body is not None:
        described["requestBody"] = _request_body(operation)
        if operation.vendor_errors:
            described["parameters"].append(_IDEMPOTENCY_KEY)
    return described


def _describe(route: Route) -> str:
    roles = route.operation.roles
    return f"{route.description}\n\nRoles: {', '.join(roles)}." if roles else route.description


_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "If sent, it must equal request_id.",
    "schema": {"type": "string"},
}


_PATH_SCHEMAS: dict[str, dict[str, Any]] = {
    "name": {"type": "string", "pattern": NAME_PATTERN},
    "price_table_id": {"type": "integer", "minimum": 1, "maximum": MAX_AMOUNT},
}


def _path_parameter(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": "Percent-encode a slash in it.",
        "schema": _PATH_SCHEMAS.get(name, {"type": "string", "pattern": ID_PATTERN}),
    }


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.description,
        "schema": parameter.schema,
    }


def _request_body(operation: Operation) -> dict[str, Any]:
    assert operation.body is not None  # noqa: S101  # the caller asked
    schema = _ref(operation.body)
    if operation.batches:
        many = {"type": "array", "items": schema, "minItems": 1, "maxItems": MOST_ITEMS}
        schema = {"oneOf": [schema, many]}
    content: dict[str, Any] = {"schema": schema}
    if operation.example is not None:
        content["examples"] = {"example": {"value": operation.example}}
    return {"required": True, "content": {"application/json": content}}


def _responses(operation: Operation) -> dict[str, Any]:
    responses = {str(status): _success(operation, model)
                 for status, model in operation.answers.items()}  # fmt: skip
    if not responses:
        responses = {"200": {"description": "As asked.",
                             "content": {operation.media_type: {}}}}  # fmt: skip
    if operation.batches:
        responses["207"] = _batch()
    if operation.denies:
        responses |= {"402": _denial("waiting can't help"), "429": _denial("not now")}
    for status, codes in _by_status(operation).items():
        responses[str(status)] = _refusal(status, codes, _fault(operation))
    if operation.vendor_errors:
        _add_envelopes(responses)
    return dict(sorted(responses.items()))


def _success(operation: Operation, model: type[BaseModel]) -> dict[str, Any]:
    schema = {"type": "array", "items": _ref(model)} if operation.many else _ref(model)
    answer: dict[str, Any] = {
        "description": (model.__doc__ or model.__name__).strip(),
        "content": {"application/json": {"schema": schema}},
    }
    if operation.denies:
        answer["headers"] = {name: _header() for name in _DENIAL_FIELDS}
    if operation.csv:
        answer["content"]["text/csv"] = {"schema": {"type": "string"}}
        answer["headers"] = {"Link": _header()}
    return answer


def _batch() -> dict[str, Any]:
    entry = {
        "type": "object",
        "required": ["status", "body"],
        "properties": {"status": {"type": "integer"}, "body": {"type": "object"}},
        "additionalProperties": False,
    }
    return {
        "description": "To an array: what each item would have been answered alone, in its order.",
        "content": {"application/json": {"schema": {"type": "array", "items": entry}}},
    }


def _denial(when: str) -> dict[str, Any]:
    return {
        "description": f"Denied: {when}.",
        "content": {MEDIA_TYPE: {"schema": _ref(Denial)}},
        "headers": {name: _header() for name in ("Retry-After", *_DENIAL_FIELDS)},
    }


def _by_status(operation: Operation) -> dict[int, list[str]]:
    codes = [*_COMMON, *operation.problems]
    if operation.roles:
        codes += ["unauthenticated", "forbidden", "store_unavailable"]
    if operation.body is not None:
        codes.append("too_large")
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        by_status.setdefault(CODES[code][0], []).append(code)
    return by_status


_COMMON = ("malformed", "internal")


def _fault(operation: Operation) -> dict[str, str]:
    """One of the faults that a request for this may have."""
    if operation.body is not None:
        return {"path": "amounts.usd_nano", "message": "must be a whole number"}
    if operation.parameters:
        return {"path": f"query.{operation.parameters[0].name}", "message": "…"}
    return {"path": "query.colour", "message": "unknown parameter"}


def _refusal(status: int, codes: list[str], fault: dict[str, str]) -> dict[str, Any]:
    types = {"properties": {"type": {"enum": [TYPE_BASE + code for code in codes]}}}
    answer: dict[str, Any] = {
        "description": "; ".join(CODES[code][1] for code in codes) + ".",
        "content": {
            MEDIA_TYPE: {
                "schema": {"allOf": [{"$ref": _REF.format(model="Problem")}, types]},
                "examples": {code: {"value": _example(status, code, fault)} for code in codes},
            }
        },
    }
    if status in _FIELDS:
        answer["headers"] = {_FIELDS[status]: _header()}
    return answer


def _add_envelopes(responses: dict[str, Any]) -> None:
    """With ``error_format`` the same answers come as JSON of the vendor's making."""
    for status, response in responses.items():
        if int(status) >= HTTPStatus.BAD_REQUEST:
            response["content"]["application/json"] = {"schema": {"type": "object"}}


_FIELDS = {401: "WWW-Authenticate", 503: "Retry-After"}


def _example(status: int, code: str, fault: dict[str, str]) -> dict[str, Any]:
    example = {"type": TYPE_BASE + code, "title": CODES[code][1], "status": status, "detail": "…"}
    if code == "malformed":
        example["errors"] = [fault]
    return example


def _header() -> dict[str, Any]:
    return {"schema": {"type": "string"}}


def _ref(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": _REF.format(model=model.__name__)}
