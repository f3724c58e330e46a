"""The one decoder of bodies, without a database."""

from typing import Annotated

import pytest
from pydantic import Field

from service.api import instants, values
from service.api.fields import fields_of
from service.api.plans import PlanBody
from service.api.problems import Problem
from service.api.reserve import ReserveBody
from service.api.strict import decode
from service.api.values import Body

JSON = {b"content-type": b"application/json"}
GOOD = b'{"request_id":"a","account_id":"b","amounts":{"tokens":7}}'


def faults(body: bytes, model: type[Body] = ReserveBody, fields=JSON) -> dict[str, str]:
    """The errors by path; the decoder must refuse."""
    with pytest.raises(Problem) as caught:
        decode(model, fields, body)
    assert caught.value.code == "malformed"
    return {error["path"]: error["message"] for error in caught.value.members["errors"]}


def with_amount(text: str) -> bytes:
    return GOOD.replace(b"7", text.encode())


def test_a_good_body_comes_out_with_its_own_text() -> None:
    model, text = decode(ReserveBody, JSON, GOOD)
    assert model.amounts == {"tokens": 7}
    assert text == GOOD.decode()


@pytest.mark.parametrize(
    "amount",
    [
        '"7"', "7.0", "1e3", "7.5", "true", "null", "-1", "-0.0", "NaN", "Infinity", "-Infinity",
        "9007199254740992", "1" + "0" * 30, "1" * 5000, "1e400", "[7]", "{}",
    ],
)  # fmt: skip
def test_what_is_no_whole_number_is_refused_by_the_name_of_its_field(amount: str) -> None:
    assert set(faults(with_amount(amount))) == {"amounts.tokens"}


@pytest.mark.parametrize("amount", ["0", "9007199254740991", "-0"])
def test_the_ends_of_the_range_are_in_it(amount: str) -> None:
    decode(ReserveBody, JSON, with_amount(amount))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "empty"),
        (b"   ", "not JSON"),
        (b"null", "must be a JSON object"),
        (b"[]", "must be a JSON object"),
        (b'"a"', "must be a JSON object"),
        (b"7", "must be a JSON object"),
        (b"{", "not JSON"),
        (GOOD + b"x", "not JSON"),
        (GOOD + GOOD, "not JSON"),
        (b"\xef\xbb\xbf" + GOOD, "not JSON"),
        (GOOD.replace(b"a", b"\xff"), "not UTF-8"),
        (GOOD.decode().encode("utf-16"), "not UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "not UTF-8"),
        (b"{'a':1}", "not JSON"),
        (b'{"request_id":"a\x00"}', "not JSON"),
        (b"[" * 60000, "nested too deeply"),
        (b'{"a":' * 10000, "nested too deeply"),
        (b'{"amounts":' + b"[" * 900 + b"]" * 900 + b"}", None),
    ],
)
def test_what_is_no_json_object_is_refused(body: bytes, message: str | None) -> None:
    found = faults(body)
    if message is not None:
        assert message in found[""]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"request_id":"a","request_id":"a"}', "request_id"),
        (b'{"amounts":{"tokens":1,"tokens":2}}', "amounts.tokens"),
        (
            b'{"alternatives":[{"amounts":{"a":1}},{"amounts":{"a":1,"a":1}}]}',
            "alternatives.1.amounts.a",
        ),
        (b'{"a":{"b":1,"b":2},"c":3}', "a.b"),
        (b'{"request_id":"a","re\\u0071uest_id":"b"}', "request_id"),
    ],
)
def test_a_key_that_appears_twice_is_named(body: bytes, path: str) -> None:
    assert faults(body) == {path: "appears twice"}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (GOOD[:-1] + b',"max_usage":{}}', "max_usage"),
        (GOOD[:-1] + b',"alternatives":[{"amounts":{"a":1},"ttl":1}]}', "alternatives.0.ttl"),
        (b'{"account_id":"b","amounts":{"a":1}}', "request_id"),
        (GOOD.replace(b'"a"', b"null"), "request_id"),
        (GOOD.replace(b'"a"', b'"a\\u0000"'), "request_id"),
        (GOOD.replace(b'"a"', b'"\\ud800"'), "request_id"),
        (GOOD.replace(b'"a"', b'"' + b"a" * 129 + b'"'), "request_id"),
        (GOOD.replace(b'"a"', b'""'), "request_id"),
        (GOOD.replace(b'"a"', b'"a\\n"'), "request_id"),
        (GOOD[:-1] + b',"labels":{"a":"\\ud800"}}', "labels.a"),
        (GOOD[:-1] + b',"labels":{"a":"\\u0000"}}', "labels.a"),
        (GOOD[:-1] + b',"labels":{"A":"x"}}', "labels.A"),
        (GOOD[:-1] + b',"labels":{"\\ud800":"x"}}', "labels"),
        (GOOD[:-1] + b',"ttl_seconds":0}', "ttl_seconds"),
        (GOOD[:-1] + b',"ttl_seconds":86401}', "ttl_seconds"),
        (GOOD[:-1] + b',"ttl_seconds":60.0}', "ttl_seconds"),
        (GOOD[:-1] + b',"dry_run":1}', "dry_run"),
        (GOOD[:-1] + b',"dry_run":"true"}', "dry_run"),
        (GOOD[:-1] + b',"alternatives":[]}', "alternatives"),
        (GOOD.replace(b"tokens", b"Tokens"), "amounts.Tokens"),
        (GOOD.replace(b'"tokens":7', b""), "amounts"),
    ],
)  # fmt: skip
def test_the_faulty_field_is_named(body: bytes, path: str) -> None:
    assert list(faults(body)) == [path]


@pytest.mark.parametrize("kind", ["fixed", "cycle"])
def test_a_field_with_the_name_of_its_windows_kind_is_named_once(kind: str) -> None:
    window = f'{{"kind":"{kind}","{kind}":1}}'
    body = f'{{"budgets":[{{"name":"a","unit":"tokens","limit_amount":1,"window":{window}}}]}}'
    missing = {"budgets.0.window.seconds"} if kind == "fixed" else set()
    assert set(faults(body.encode(), PlanBody)) == {f"budgets.0.window.{kind}", *missing}


def test_null_stands_for_an_absent_optional_field() -> None:
    nulls = b',"model":null,"ttl_seconds":null,"alternatives":null,"labels":null,"dry_run":null}'
    decode(ReserveBody, JSON, GOOD[:-1] + nulls)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"content-type", b"")],
        [(b"content-type", b"text/plain")],
        [(b"content-type", b"application/x-www-form-urlencoded")],
        [(b"content-type", b"application/json; charset=latin-1")],
        [(b"content-type", b"application/jsonp")],
        [(b"content-type", b"application/problem+json")],
        [(b"content-type", b"application/json")] * 2,
    ],
)
def test_a_wrong_content_type_is_refused(headers: list[tuple[bytes, bytes]]) -> None:
    fields = fields_of({"headers": headers})
    assert list(faults(GOOD, fields=fields)) == ["header.content-type"]


@pytest.mark.parametrize(
    "declared",
    [
        b"application/json; charset=utf-8",
        b"Application/JSON;charset=UTF-8",
        b'application/json; charset="utf-8"',
    ],
)
def test_json_in_utf8_may_be_declared_in_every_way(declared: bytes) -> None:
    decode(ReserveBody, {b"content-type": declared}, GOOD)


class Strange(Body):
    values: Annotated[list[int], Field(max_length=1000)]


@pytest.mark.parametrize("kind", [instants.Instant, values.Instant], ids=["tables", "changes"])
def test_an_instant_may_have_nanoseconds_wherever_it_stands(kind: type[str]) -> None:
    model = type("Timed", (Body,), {"__annotations__": {"at": kind}})
    for digits in range(1, 10):
        value = f"2026-10-01T00:00:00.{'1' * digits}Z"
        assert decode(model, JSON, f'{{"at":"{value}"}}'.encode())[0].at == value
    assert set(faults(b'{"at":"2026-10-01T00:00:00.1111111111Z"}', model)) == {"at"}


def test_at_most_twenty_faults_are_listed() -> None:
    body = b'{"values":[' + b",".join([b'"x"'] * 500) + b"]}"
    assert len(faults(body, Strange)) == 20


def test_a_path_is_never_longer_than_two_hundred_characters() -> None:
    body = GOOD[:-1] + b',"' + b"x" * 5000 + b'":1}'
    assert max(map(len, faults(body))) == 200
