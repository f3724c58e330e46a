"""What is decoded in one pass is what parser and model apart make of it: the short way lets nothing more through."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api import strict
from service.api.charge import ChargeBody
from service.api.extend import ExtendBody
from service.api.problems import Problem
from service.api.reserve import ReserveBody
from service.api.settle import SettleBody
from service.api.values import Body

JSON = {b"content-type": b"application/json"}
MODELS = [ReserveBody, SettleBody, ChargeBody, ExtendBody]
NAMES = st.sampled_from(
    ["request_id", "account_id", "amounts", "usage", "ttl_seconds", "labels", "model", "outcome",
     "provider_usage", "alternatives", "api", "tokens", "a", "reqüest_id", ":x", " "]
)  # fmt: skip
WORDS = st.sampled_from(["a", "hot:1", "unknown", "openai_chat", "", "ü", 'a"b', "a\\", "\ud800"])
NUMBERS = st.sampled_from(
    [0, 7, -1, 2**53 - 1, 2**53, 2**70, 7.0, 0.1, True, None, float("nan"), float("-inf")]
)
VALUES = st.recursive(
    WORDS | NUMBERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
GOOD: dict[str, Any] = {"request_id": "r1", "account_id": "hot"}


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Often good but for something; with its escapes or without, sometimes with a byte changed."""
    value = {**GOOD, "amounts": {"tokens": 7}, "ttl_seconds": 60}
    value |= draw(st.dictionaries(NAMES, VALUES, max_size=3))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text[:-1] + "," + json.dumps(draw(st.dictionaries(NAMES, VALUES, min_size=1)))[1:]
    body = text.encode("utf-8", "surrogatepass")
    at = draw(st.integers(0, len(body) - 1))
    new = draw(st.sampled_from([b"", body[at : at + 1], b'"', b":", b"\x00", b"\xff", b"0", b"{"]))
    return body[:at] + new + body[at + 1 :] if draw(st.booleans()) else body


def told(decode: Any, *arguments: Any) -> Any:
    try:
        checked, text = decode(*arguments)
    except Problem as problem:
        return problem.as_json()
    # repr: the same NaN is not equal to itself
    return repr(checked), checked.model_fields_set, text


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
@settings(deadline=None)
@given(body=bodies())
def test_a_body_is_told_the_same_in_one_pass_as_step_by_step(
    model: type[Body], body: bytes
) -> None:
    assert told(strict.decode, model, JSON, body) == told(strict._step_by_step, model, body)


@pytest.mark.parametrize(
    "usage",
    [
        "NaN", "-Infinity", "1e400", "9" * 400, "9" * 5000, "-0", "-0.0", "01", "1.", ".5", "+1",
        "1E+5", "5e-324", "0.1234567890123456789012345", "9007199254740993.0", "nan", "tru",
        '"\x7f"', '"\u2028"', '"\x01"', "[" * 250 + "]" * 250, "[" * 900 + "]" * 900, "1/**/", "1,",
    ],
)  # fmt: skip
def test_a_value_of_any_kind_is_read_the_same_in_one_pass_as_step_by_step(usage: str) -> None:
    body = b'{"request_id":"a","provider_usage":{"api":"openai_chat","usage":{"x":%b}}}'
    body %= usage.encode()
    assert told(strict.decode, SettleBody, JSON, body) == told(
        strict._step_by_step, SettleBody, body
    )


@pytest.mark.parametrize(
    "body",
    [
        b'{"request_id":"r","account_id":"a","amounts":{"tokens":7},"ttl_seconds":60}',
        b' {"request_id" : "r:1", "account_id" : "a/b",\n"amounts":{"tokens" : 7}}\r\n',
    ],
)
def test_a_plain_body_takes_the_short_way(body: bytes) -> None:
    assert strict._in_one_pass(ReserveBody, body) is not None
