"""The document: valid, complete, and true."""

import json
import re
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest
import schemathesis
from litestar.routes import HTTPRoute

from service.api.openapi import document
from service.app import create_app
from tests.api.client import Api, settings_for

APP = create_app(settings_for("postgresql://nobody@127.0.0.1:1/none"))
DOCUMENT = document(APP)


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    ]


def test_it_is_openapi_3_1_and_every_schema_is_valid() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    for name, schema in DOCUMENT["components"]["schemas"].items():
        (
            jsonschema_rs.meta.validate(
                {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
            ),
            name,
        )


def test_a_tool_can_read_every_operation() -> None:
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(DOCUMENT)))
    found = [result.ok() for result in schema.get_all_operations()]
    assert len(found) == len(operations())


def test_every_reference_leads_somewhere() -> None:
    names = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(DOCUMENT))
    assert set(names) <= set(DOCUMENT["components"]["schemas"])


def test_every_route_is_in_it() -> None:
    served = {
        (re.sub(r":\w+\}", "}", route.path), method.lower())
        for route in APP.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in handler.http_methods
        if method != "OPTIONS"
    }
    calls = {(path, "post") for path in APP.calls}
    assert served | calls == {(path, method) for path, method, _ in operations()}


def test_every_tag_is_declared() -> None:
    used = {tag for _, _, operation in operations() for tag in operation["tags"]}
    assert used == {tag["name"] for tag in DOCUMENT["tags"]}


def test_operation_ids_are_unique() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_the_example_of_a_400_names_what_the_operation_has(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    content = operation["responses"]["400"]["content"]["application/problem+json"]
    (fault,) = content["examples"]["malformed"]["value"]["errors"]
    queries = [p["name"] for p in operation.get("parameters", []) if p["in"] == "query"]
    if "requestBody" in operation:
        assert fault["path"] == "amounts.usd_nano"
    else:
        assert fault["path"] == f"query.{queries[0] if queries else 'colour'}"


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_every_operation_declares_its_errors(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    declared = set(operation["responses"])
    wanted = {"400", "500"}
    if operation.get("security") != []:
        wanted |= {"401", "403", "503"}
    if "requestBody" in operation:
        wanted |= {"413"}
        assert operation["requestBody"]["content"]["application/json"]["examples"]
    assert wanted <= declared
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            assert "application/problem+json" in response["content"]


def test_the_examples_fit_their_models() -> None:
    for *_, operation in operations():
        if "requestBody" not in operation:
            continue
        content = operation["requestBody"]["content"]["application/json"]
        validate(content["schema"], content["examples"]["example"]["value"])


def test_a_key_is_the_only_security_scheme() -> None:
    assert DOCUMENT["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert DOCUMENT["security"] == [{"key": []}]


def validate(schema: dict[str, Any], value: Any) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    jsonschema_rs.Draft202012Validator(whole, validate_formats=True).validate(value)


def declared(path: str, method: str, response: Any) -> None:
    """The response is one that the document promises."""
    operation = DOCUMENT["paths"][path][method]
    content = operation["responses"][str(response.status_code)]["content"]
    kind = response.headers["content-type"].partition(";")[0]
    validate(content[kind]["schema"], response.json())


TABLE = {
    "model": "m",
    "aliases": ["n"],
    "tiers": [
        {"above_input_tokens": at, "rates": {"input_tokens": {"micro_usd": 1, "per": 1}}}
        for at in (0, 9)
    ],
}

PRICED = {"model": "p", "rates": {"input_tokens": {"micro_usd": 1, "per": 1000}}}
AUDITS = [
    ("decisions", ""), ("timeline", "?request_id=org/r"), ("timeline", "?request_id=none"),
    ("why-denied", "?request_id=d"), ("why-denied", "?request_id=org/r"), ("stuck", ""), ("stuck", "?max_count=0"),
    ("exceptions", ""), ("spend", "?since=2026-01-01T00:00:00Z&until=2036-01-01T00:00:00Z"), ("adjustments", ""),
    ("changes", ""), ("verify", ""),
]  # fmt: skip


async def test_what_is_answered_is_what_is_promised(api: Api) -> None:
    reserve = {"request_id": "org/r", "account_id": "org/a", "amounts": {"tokens": 400}}
    cap = {"unit": "tokens", "window": {"kind": "calendar", "period": "day"}, "limit_amount": 1000}
    priced = {"account_id": "u", "model": "p"}
    month = {"since": "2026-09-01T00:00:00Z", "until": "2226-10-01T00:00:00Z"}
    account, request = quote("org/a", safe=""), quote("org/r", safe="")
    steps: list[tuple[str, str, str, Any]] = [
        ("/plans/{plan_id}", "put", "/plans/p", {"budgets": [{"name": "cap", **cap}]}),
        ("/plans/{plan_id}", "get", "/plans/p", None),
        ("/plans/{plan_id}", "get", "/plans/none", None),
        ("/accounts/{account_id}", "put", f"/accounts/{account}", {"plan_id": "p"}),
        ("/accounts/{account_id}", "put", f"/accounts/{account}", {"plan_id": "none"}),
        ("/accounts/{account_id}", "get", f"/accounts/{account}", None),
        ("/accounts/{account_id}", "get", "/accounts/none", None),
        ("/accounts/{account_id}/budgets/{name}", "put", f"/accounts/{account}/budgets/x", cap),
        ("/accounts/{account_id}/budgets/{name}", "delete", f"/accounts/{account}/budgets/x", None),
        ("/accounts/{account_id}/budgets/{name}", "delete", f"/accounts/{account}/budgets/none", None),
        ("/price-tables", "post", "/price-tables", TABLE),
        ("/price-tables", "post", "/price-tables", {**TABLE, "rates": {}}),
        ("/price-tables", "get", "/price-tables?model=m", None),
        ("/price-tables/{price_table_id}", "get", "/price-tables/1", None),
        ("/price-tables/{price_table_id}", "get", "/price-tables/99", None),
        ("/price-tables/{price_table_id}", "get", "/price-tables/seven", None),
        ("/price-tables", "post", "/price-tables", PRICED),
        ("/price-tables", "post", "/price-tables", {**PRICED, "model": "q"}),
        ("/accounts/{account_id}", "put", "/accounts/u", {}),
        ("/accounts/{account_id}/budgets/{name}", "put", "/accounts/u/budgets/usd", {**cap, "unit": "usd_nano"}),
        ("/reserve", "post", "/reserve", {**priced, "request_id": "p1", "max_usage": {"input_tokens": 5}}),
        ("/reserve", "post", "/reserve", {**priced, "request_id": "p2", "max_usage": {"input_tokens": 9999}}),
        ("/reserve", "post", "/reserve", {**priced, "request_id": "p3", "max_usage": {"output_tokens": 5}}),
        ("/reserve", "post", "/reserve", {**priced, "request_id": "p4", "max_usage": {"input_tokens": 5}, "model": "none"}),
        ("/settle", "post", "/settle", {"request_id": "p1", "usage": {"input_tokens": 4}}),
        ("/settle", "post", "/settle", {"request_id": "p1", "usage": {"input_tokens": 5}}),
        ("/charge", "post", "/charge", {**priced, "request_id": "p5", "usage": {"input_tokens": 5}}),
        ("/charge", "post", "/charge", {**priced, "request_id": "p6", "usage": {"web_searches": 5}}),
        ("/reservations/{request_id}", "get", "/reservations/p1", None),
        ("/reservations/{request_id}", "get", "/reservations/p5", None),
        ("/price-tables/rerate", "post", "/price-tables/rerate", {"wrong_table": 3, "right_table": 4, **month}),
        ("/price-tables/rerate", "post", "/price-tables/rerate", {"wrong_table": 3, "right_table": 99, **month}),
        ("/price-tables/rerate", "post", "/price-tables/rerate", {"wrong_table": 3, "right_table": 3, **month}),
        ("/keys", "post", "/keys", {"name": "n", "role": "spend"}),
        ("/keys", "get", "/keys", None),
        ("/keys/{key_id}", "delete", "/keys/none", None),
        ("/reserve", "post", "/reserve", reserve),
        ("/reserve", "post", "/reserve", {**reserve, "request_id": "dry", "dry_run": True}),
        ("/reserve", "post", "/reserve", {**reserve, "amounts": {"tokens": 1}}),
        ("/reserve", "post", "/reserve", {**reserve, "request_id": "d", "amounts": {"tokens": 999}}),
        ("/reserve", "post", "/reserve", {**reserve, "request_id": "e", "amounts": {"tokens": 9999}}),
        ("/extend", "post", "/extend", {"request_id": "org/r", "ttl_seconds": 500}),
        ("/cancel", "post", "/cancel", {"request_id": "org/r"}),
        ("/reservations/{request_id}", "get", f"/reservations/{request}", None),
        ("/settle", "post", "/settle", {"request_id": "org/r", "outcome": "unknown"}),
        ("/settle", "post", "/settle", {"request_id": "org/r", "amounts": {"tokens": 500}}),
        ("/settle", "post", "/settle", {"request_id": "org/r", "amounts": {"tokens": 501}}),
        ("/settle", "post", "/settle", {"request_id": "d", "amounts": {"tokens": 501}}),
        ("/release", "post", "/release", {"request_id": "org/r", "reason": "x"}),
        ("/charge", "post", "/charge", {**reserve, "request_id": "c", "amounts": {"tokens": 1}}),
        ("/reserve", "post", "/reserve", {**reserve, "request_id": "f", "amounts": {"tokens": 1}}),
        ("/release", "post", "/release", {"request_id": "f", "reason": "x"}),
        ("/reservations/{request_id}", "get", f"/reservations/{request}", None),
        ("/reservations/{request_id}", "get", "/reservations/d", None),
        ("/reservations/{request_id}", "get", "/reservations/c", None),
        ("/reservations/{request_id}", "get", "/reservations/none", None),
        ("/reservations/{request_id}/resolve", "post", f"/reservations/{request}/resolve",
         {"action": "release", "reason": "x"}),
        ("/accounts/{account_id}/balance", "get", f"/accounts/{account}/balance", None),
        *[(f"/audit/{name}", "get", f"/audit/{name}{query}", None) for name, query in AUDITS],
        ("/healthz", "get", "/healthz", None),
    ]  # fmt: skip
    for template, method, path, body in steps:
        response = await api.send(method.upper(), path, body)
        try:
            declared(template, method, response)
        except (KeyError, jsonschema_rs.ValidationError) as error:
            raise AssertionError(
                f"{method} {path}: {response.status_code} {response.text}"
            ) from error


async def test_figures_that_corrections_took_below_nothing_are_as_promised(api: Api) -> None:
    await api.grant("a")
    await api.reserve("r", "a", 10)
    credit = {"budget": "cap", "amount": -500, "reason": "goodwill", "idempotency_key": "k"}
    corrected = await api.post("/accounts/a/adjustments", credit)
    declared("/accounts/{account_id}/adjustments", "post", corrected)
    settled = await api.post("/settle", {"request_id": "r", "amounts": {"tokens": 5}})
    assert settled.json()["lines"][0]["settled"] == -495
    declared("/settle", "post", settled)


async def test_what_an_unlimited_window_counts_is_as_promised(api: Api) -> None:
    await api.grant("a", None)
    most = 2**53 - 1
    for request_id in ("r", "s"):
        await api.reserve(request_id, "a", most)
    declared("/accounts/{account_id}/balance", "get", await api.get("/accounts/a/balance"))
    declared(
        "/settle",
        "post",
        await api.post("/settle", {"request_id": "r", "amounts": {"tokens": most}}),
    )


def test_what_an_audit_must_be_told_is_required() -> None:
    required = {
        (path, parameter["name"])
        for path, method, operation in operations()
        for parameter in operation["parameters"]
        if parameter["in"] == "query" and parameter["required"]
    }
    assert required == {
        ("/audit/timeline", "request_id"),
        ("/audit/why-denied", "request_id"),
        ("/audit/spend", "since"),
        ("/audit/spend", "until"),
        ("/audit/prices", "since"),
        ("/audit/prices", "until"),
    }
