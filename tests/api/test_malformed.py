"""A malformed request is a 400 that names the field, and nothing is written."""

import importlib
import json
from typing import Any

import pytest

from service.api.problems import Problem
from service.api.strict import decode
from tests.api.client import Api
from tests.support.checks import assert_problem
from tests.support.ledger import Ledger
from tests.support.malformed import BAD_AMOUNTS, BAD_IDS, BAD_LABELS, BAD_TTLS, broken

RESERVE = {"request_id": "r", "account_id": "a", "amounts": {"tokens": 1}}
GOOD: dict[str, dict[str, Any]] = {
    "reserve": RESERVE,
    "charge": RESERVE,
    "settle": {"request_id": "held", "amounts": {"tokens": 1}},
    "release": {"request_id": "held", "reason": "not sent"},
    "extend": {"request_id": "held", "ttl_seconds": 60},
    "cancel": {"request_id": "held"},
}
UNKNOWN = ("max_usage", "usage", "provider_usage", "Request_id", "", "requestId", "status")

CASES: dict[str, tuple[str, str, Any]] = {
    f"{call} {why}": (call, member, value)
    for call, body in GOOD.items()
    for kind, values in {
        "request_id": BAD_IDS,
        "account_id": {why: value for why, value in BAD_IDS.items() if why != "null"},
        "amounts": BAD_AMOUNTS,
        "ttl_seconds": BAD_TTLS,
    }.items()
    if kind in body or kind == "account_id"
    for why, (member, value) in broken(kind, values).items()
} | {
    f"{call} {why}": (call, member, value)
    for call in ("reserve", "charge")
    for why, (member, value) in broken("labels", BAD_LABELS).items()
} | {f"{call} unknown field {name!r}": (call, name, 1) for call in GOOD for name in UNKNOWN}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_model_names_the_field(case: tuple[str, str, Any]) -> None:
    call, member, value = case
    errors = refused(call, {**GOOD[call], member: value})
    assert all(error["path"].split(".")[0] == member for error in errors), errors


def refused(call: str, body: dict[str, Any]) -> list[dict[str, str]]:
    model = getattr(importlib.import_module(f"service.api.{call}"), f"{call.title()}Body")
    with pytest.raises(Problem) as caught:
        decode(model, {b"content-type": b"application/json"}, json.dumps(body).encode())
    errors: list[dict[str, str]] = caught.value.members["errors"]
    return errors


RAW: dict[str, tuple[bytes, str]] = {
    "text": (b'{"request_id":"r","account_id":"a","amounts":{"tokens":"7"}}', "amounts.tokens"),
    "a decimal point": (b'{"request_id":"r","account_id":"a","amounts":{"tokens":7.0}}', "amounts.tokens"),
    "an exponent": (b'{"request_id":"r","account_id":"a","amounts":{"tokens":1e3}}', "amounts.tokens"),
    "true": (b'{"request_id":"r","account_id":"a","amounts":{"tokens":true}}', "amounts.tokens"),
    "minus one": (b'{"request_id":"r","account_id":"a","amounts":{"tokens":-1}}', "amounts.tokens"),
    "2 to the 53": (b'{"request_id":"r","account_id":"a","amounts":{"tokens":9007199254740992}}', "amounts.tokens"),
    "NaN": (b'{"request_id":"r","account_id":"a","amounts":{"tokens":NaN}}', "amounts.tokens"),
    "a NUL escaped": (b'{"request_id":"r\\u0000","account_id":"a","amounts":{"tokens":1}}', "request_id"),
    "a NUL": (b'{"request_id":"r\x00","account_id":"a","amounts":{"tokens":1}}', ""),
    "129 characters": (b'{"request_id":"' + b"r" * 129 + b'","account_id":"a","amounts":{"tokens":1}}', "request_id"),
    "an unknown field": (b'{"request_id":"r","account_id":"a","amounts":{"tokens":1},"colour":1}', "colour"),
    "a duplicate key": (b'{"request_id":"r","account_id":"a","amounts":{"tokens":1},"account_id":"b"}', "account_id"),
    "an empty body": (b"", ""),
    "no object": (b"[]", ""),
    "invalid UTF-8": (b'{"request_id":"\xff","account_id":"a","amounts":{"tokens":1}}', ""),
    "deep nesting": (b"[" * 50000, ""),
}  # fmt: skip


async def test_over_sockets_each_is_a_400_naming_the_field_and_nothing_is_written(
    served: Api, ledger: Ledger
) -> None:
    await ledger.grant("a")
    before = await ledger.contents()
    for why, (body, path) in RAW.items():
        for call in ("/reserve", "/charge"):
            response = await served.post(call, body)
            assert response.status_code == 400, (why, response.text)
            assert response.headers["content-type"] == "application/problem+json"
            problem = response.json()
            assert problem["type"].endswith("/malformed")
            assert [error["path"] for error in problem["errors"]] == [path], why
    assert await ledger.contents() == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": ""},
    ],
)
async def test_a_wrong_content_type_is_a_400(api: Api, headers: dict[str, str]) -> None:
    response = await api.post("/reserve", RESERVE, headers=headers)
    assert response.status_code == 400
    assert response.json()["errors"][0]["path"] == "header.content-type"


async def test_a_missing_content_type_is_a_400(api: Api) -> None:
    response = await api.http.post(
        "/reserve",
        content=b"{}",
        headers={"Authorization": "Bearer admin-key-of-the-tests-0123456789"},
    )
    assert response.status_code == 400
    assert response.json()["errors"][0]["path"] == "header.content-type"


async def test_an_unknown_query_parameter_is_a_400(api: Api) -> None:
    for method, path, body in [
        ("POST", "/reserve?colour=red", RESERVE),
        ("GET", "/accounts/a/balance?audit=true", None),
        ("GET", "/reservations/r?colour=red", None),
        ("PUT", "/accounts/a?colour=red", {}),
        ("GET", "/keys?colour=", None),
    ]:
        response = await api.send(method, path, body)
        assert response.status_code == 400, path
        assert response.json()["errors"][0]["path"].startswith("query."), path


async def test_a_query_parameter_given_twice_is_a_400(api: Api) -> None:
    response = await api.get("/reservations/r?account_id=a&account_id=a")
    assert response.status_code == 400


async def test_an_unknown_error_format_is_a_400(api: Api) -> None:
    response = await api.post("/reserve?error_format=acme", RESERVE)
    assert response.status_code == 400
    assert response.json()["errors"] == [
        {"path": "query.error_format", "message": "must be openai or anthropic"}
    ]


async def test_an_idempotency_key_other_than_the_request_id_is_a_400(api: Api) -> None:
    await api.grant("a")
    for sent, status in [("other", 400), ("r", 200), ('"r"', 200)]:
        response = await api.post("/reserve", RESERVE, headers={"Idempotency-Key": sent})
        assert response.status_code == status, (sent, response.text)


@pytest.mark.parametrize("how", ["announced", "streamed"])
async def test_a_body_over_64_kib_is_a_413(served: Api, how: str) -> None:
    body = b'{"request_id":"' + b"x" * 65536 + b'"}'

    async def pieces():
        for start in range(0, len(body), 8192):
            yield body[start : start + 8192]

    content: Any = body if how == "announced" else pieces()
    response = await served.http.post(
        "/reserve",
        content=content,
        headers={
            "Authorization": "Bearer admin-key-of-the-tests-0123456789",
            "Content-Type": "application/json",
        },
    )
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == "https://preauth.dev/problems/too_large"


HEADERS = {
    "Authorization": "Bearer admin-key-of-the-tests-0123456789",
    "Content-Type": "application/json",
}
ONE = "A request body may have 65536 bytes."
ONE_OR_MANY = "A request body may have 65536 bytes, an array of calls 1048576."
TOO_LARGE = [
    ("/reserve", b'{"request_id":"' + b"x" * 65536 + b'"}', ONE_OR_MANY),
    ("/reserve", b"[" + b" " * 1048576 + b"]", ONE_OR_MANY),
    ("/charge", b" [" + b" " * 1048576 + b"]", ONE_OR_MANY),
    ("/release", b'{"request_id":"' + b"x" * 65536 + b'"}', ONE),
    ("/release", b"[" + b" " * 65536 + b"]", ONE),
    ("/release", b"[" + b" " * 1048576 + b"]", ONE),
    ("/keys", b'{"name":"' + b"x" * 65536 + b'"}', ONE),
]


@pytest.mark.parametrize("how", ["announced", "streamed"])
@pytest.mark.parametrize(("path", "body", "bound"), TOO_LARGE, ids=map(str, range(len(TOO_LARGE))))
async def test_a_413_says_the_bound_that_applies(
    served: Api, path: str, body: bytes, bound: str, how: str
) -> None:
    async def pieces():
        for start in range(0, len(body), 8192):
            yield body[start : start + 8192]

    content: Any = body if how == "announced" else pieces()
    response = await served.http.post(path, content=content, headers=HEADERS)
    assert_problem(response.json(), 413, "too_large")
    assert response.json()["detail"] == bound


async def test_an_array_of_1_mib_is_read(api: Api) -> None:
    for size, status in [(65536, 400), (1048576 - 2, 400), (1048576 - 1, 413)]:
        response = await api.post("/reserve", b"[" + b" " * size + b"]")
        assert response.status_code == status, size


async def test_a_body_of_64_kib_is_read(api: Api) -> None:
    body = b'{"request_id":"r"' + b" " * 65000 + b"}"
    assert (await api.post("/reserve", body)).status_code == 400
