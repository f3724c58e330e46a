"""?error_format=: denials and errors in a vendor's envelope, with the same status."""

import pytest

from service.api.vendors import envelope
from tests.api.client import Api

DENIAL = {
    "type": "https://preauth.dev/problems/denied", "title": "t", "status": 429, "detail": "No.",
    "decision": "denied", "reason": "budget_exhausted", "scope": "a", "window": "lifetime",
    "unit": "tokens", "limit": 1000,
}  # fmt: skip


def test_a_denial_as_openai_has_it() -> None:
    error = envelope("openai", DENIAL)["error"]
    assert error["message"] == "No."
    assert (error["type"], error["code"], error["param"]) == (
        "insufficient_quota",
        "budget_exhausted",
        None,
    )
    named = {name: error["details"][name] for name in ("scope", "window", "unit", "limit")}
    assert named == {"scope": "a", "window": "lifetime", "unit": "tokens", "limit": 1000}


def test_a_denial_as_anthropic_has_it() -> None:
    body = envelope("anthropic", DENIAL)
    assert (body["type"], body["error"]["type"]) == ("error", "rate_limit_error")
    assert body["error"]["message"] == "No."
    assert body["error"]["details"]["reason"] == "budget_exhausted"


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_denials_keep_status_and_header_fields(api: Api, vendor: str) -> None:
    await api.grant("a", window={"kind": "calendar", "period": "day"})
    await api.reserve("r", "a", 900)
    plain = await api.reserve("s", "a", 200)
    dressed = await api.reserve("s", "a", 200, params={"error_format": vendor})
    assert (dressed.status_code, plain.status_code) == (429, 429)
    assert dressed.headers["content-type"] == "application/json"
    assert int(dressed.headers["retry-after"]) > 0
    details = dressed.json()["error"]["details"]
    assert details["available"] == plain.json()["available"] == 100
    assert details["reason"] == "budget_exhausted"


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_every_error_of_a_call_is_dressed(api: Api, vendor: str) -> None:
    query = f"?error_format={vendor}"
    answers = [
        await api.post(f"/reserve{query}", {"request_id": 7}),
        await api.post(f"/reserve{query}", {}, key=None),
        await api.post(f"/settle{query}", {"request_id": "none", "amounts": {"tokens": 1}}),
        await api.get(f"/accounts/none/balance{query}"),
        await api.post(f"/reserve{query}", b"x" * 70000),
    ]
    assert [answer.status_code for answer in answers] == [400, 401, 404, 404, 413]
    for answer in answers:
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["error"]["message"]
    assert answers[0].json()["error"]["details"]["problem"] == "malformed"


async def test_successes_are_not_dressed(api: Api) -> None:
    await api.grant("a")
    response = await api.reserve("r", "a", 1, params={"error_format": "openai"})
    assert response.json()["decision"] == "authorized"


async def test_administration_knows_no_error_format(api: Api) -> None:
    response = await api.put("/plans/p?error_format=openai", {"budgets": []})
    assert (response.status_code, response.json()["type"]) == (
        400,
        "https://preauth.dev/problems/malformed",
    )
