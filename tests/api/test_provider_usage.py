"""``provider_usage`` over HTTP: read before the ledger sees it, settled like any usage."""

import json
from typing import Any

import pytest

from tests.api.client import Api
from tests.support.checks import assert_problem, assert_same
from tests.support.prices import rates

CHAT = {
    "prompt_tokens": 27147,
    "completion_tokens": 351,
    "total_tokens": 27498,
    "prompt_tokens_details": {"cached_tokens": 27146},
}
MODEL = "zai/glm-4.6"
RATES = rates(input_tokens="1.40", cached_input_tokens="0.26", output_tokens="4.40")
USD = 1_000_000_000


@pytest.fixture
async def priced(api: Api) -> Api:
    """A priced model, its batch variant, and an account with $1."""
    await api.grant("a", USD, unit="usd_nano")
    batch = rates(input_tokens="0.70", cached_input_tokens="0.13", output_tokens="2.20")
    await api.ok("POST", "/price-tables", {"model": MODEL, "rates": RATES})
    await api.ok("POST", "/price-tables", {"model": MODEL, "variant": "batch", "rates": batch})
    return api


async def reserve(api: Api, request_id: str, model: str = MODEL) -> None:
    await api.ok(
        "POST",
        "/reserve",
        {
            "request_id": request_id,
            "account_id": "a",
            "model": model,
            "max_usage": {"prompt_tokens": 30_000, "completion_tokens": 1000},
        },
    )


def settlement(usage: Any, request_id: str = "r", api: str = "openai_chat") -> dict[str, Any]:
    return {"request_id": request_id, "provider_usage": {"api": api, "usage": usage}}


async def settled(api: Api) -> int:
    balance = await api.ok("GET", "/accounts/a/balance")
    return int(balance["windows"][0]["settled"])


async def test_f1_cached_tokens_cost_their_own_price_once(priced: Api) -> None:
    """F1: prompt 27,147 of which cached 27,146, output 351 at 1.40, 0.26 and 4.40 a million."""
    await reserve(priced, "r")
    reply = await priced.ok("POST", "/settle", settlement(CHAT))
    assert reply["amounts"]["usd_nano"] == 8_603_760
    assert reply["usage"] == {"input_tokens": 1, "cached_input_tokens": 27146, "output_tokens": 351}
    assert await settled(priced) == 8_603_760


async def test_f3_anthropics_input_does_not_include_what_was_written_to_the_cache(api: Api) -> None:
    """F3: input 3, cache write 12,304, output 550 at 3, 3.75 and 15 a million."""
    await api.grant("a", USD, unit="usd_nano")
    table = rates(input_tokens="3", cache_write_tokens="3.75", output_tokens="15")
    await api.ok("POST", "/price-tables", {"model": MODEL, "rates": table})
    await reserve(api, "r")
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 12304, "output_tokens": 550}
    reply = await api.ok("POST", "/settle", settlement(usage, api="anthropic_messages"))
    assert reply["amounts"]["usd_nano"] == 54_399_000


async def test_the_same_object_again_is_the_same_settlement(priced: Api) -> None:
    await reserve(priced, "r")
    first = await priced.ok("POST", "/settle", settlement(CHAT))
    shuffled = dict(reversed(CHAT.items()))
    assert_same(first, await priced.ok("POST", "/settle", settlement(shuffled)))
    usage = {"request_id": "r", "usage": first["usage"]}
    assert_same(first, await priced.ok("POST", "/settle", usage))
    other = await priced.post(
        "/settle", settlement({**CHAT, "completion_tokens": 350, "total_tokens": 27497})
    )
    assert_problem(other.json(), 409, "settlement_conflict")
    assert await settled(priced) == 8_603_760


@pytest.mark.parametrize("call", ["settle", "charge"])
async def test_c14_names_that_are_not_known_are_refused_and_nothing_is_settled(
    priced: Api, call: str
) -> None:
    """C14: a provider usage object with field names not known."""
    await reserve(priced, "r")
    body = settlement({"tokens_in": 27147, "tokens_out": 351})
    body |= {"request_id": "c", "account_id": "a", "model": MODEL} if call == "charge" else {}
    response = await priced.post(f"/{call}", body)
    assert_problem(response.json(), 422, "usage_unrecognised")
    assert [error["path"] for error in response.json()["errors"]] == [
        "provider_usage.usage.tokens_in",
        "provider_usage.usage.tokens_out",
    ]
    assert await settled(priced) == 0
    assert (await priced.ok("GET", "/reservations/r"))["state"] == "authorized"
    assert (await priced.ok("POST", "/settle", settlement(CHAT)))["state"] == "settled"


async def test_a_charge_is_priced_by_the_object(priced: Api) -> None:
    body = {**settlement(CHAT, "c"), "account_id": "a", "model": MODEL}
    reply = await priced.ok("POST", "/charge", body)
    assert reply["cost"] == {
        "usd_nano": {
            "input_tokens": 1400,
            "cached_input_tokens": 7_057_960,
            "output_tokens": 1_544_400,
        }
    }
    assert_same(reply, await priced.ok("POST", "/charge", body))
    assert await settled(priced) == 8_603_760


async def test_in_a_batch_a_bad_object_fails_alone(priced: Api) -> None:
    for request_id in ("r", "s"):
        await reserve(priced, request_id)
    response = await priced.post(
        "/settle", [settlement(CHAT), settlement({"x": 1}, "s"), settlement(CHAT, "none")]
    )
    assert [item["status"] for item in response.json()] == [200, 422, 404]
    assert response.json()[1]["body"]["type"].endswith("/usage_unrecognised")
    assert await settled(priced) == 8_603_760


BATCH = {"input_tokens": 1, "output_tokens": 1, "service_tier": "batch"}


async def test_an_object_of_another_variant_is_not_settled_at_this_price(priced: Api) -> None:
    await reserve(priced, "r")
    response = await priced.post("/settle", settlement(BATCH, api="anthropic_messages"))
    assert_problem(response.json(), 422, "usage_unrecognised")
    assert response.json()["errors"] == [
        {"path": "provider_usage.usage.service_tier", "message": f"says batch, and the price is that of {MODEL}"}
    ]  # fmt: skip
    body = {**settlement(BATCH, "c", "anthropic_messages"), "account_id": "a", "model": MODEL}
    assert_problem((await priced.post("/charge", body)).json(), 422, "usage_unrecognised")
    assert await settled(priced) == 0


async def test_an_object_of_the_variant_that_was_reserved_is_settled(priced: Api) -> None:
    await reserve(priced, "r", f"{MODEL}:batch")
    reply = await priced.ok("POST", "/settle", settlement(BATCH, api="anthropic_messages"))
    assert reply["amounts"]["usd_nano"] == 2900
    missing = await priced.post("/settle", settlement(BATCH, "none", "anthropic_messages"))
    assert_problem(missing.json(), 404, "reservation_unknown")


STANDARD = [
    ("batch", "anthropic_messages", {**BATCH, "service_tier": "standard"}, "service_tier"),
    ("batch", "google_generate_content", {"promptTokenCount": 1, "serviceTier": "standard"}, "serviceTier"),
    ("flex", "google_generate_content", {"promptTokenCount": 1, "serviceTier": "standard"}, "serviceTier"),
    ("flex", "google_generate_content", {"promptTokenCount": 1, "trafficType": "ON_DEMAND"}, "trafficType"),
]  # fmt: skip


@pytest.mark.parametrize(("variant", "api_name", "usage", "path"), STANDARD)
async def test_the_standard_price_is_not_settled_at_that_of_a_variant(
    priced: Api, variant: str, api_name: str, usage: dict[str, Any], path: str
) -> None:
    await priced.ok("POST", "/price-tables", {"model": MODEL, "variant": "flex", "rates": RATES})
    model = f"{MODEL}:{variant}"
    await reserve(priced, "r", model)
    response = await priced.post("/settle", settlement(usage, api=api_name))
    assert_problem(response.json(), 422, "usage_unrecognised")
    message = f"says {usage[path]}, and the price is that of {model}"
    assert response.json()["errors"] == [
        {"path": f"provider_usage.usage.{path}", "message": message}
    ]
    body = {**settlement(usage, "c", api_name), "account_id": "a", "model": model}
    assert_problem((await priced.post("/charge", body)).json(), 422, "usage_unrecognised")
    assert await settled(priced) == 0


async def test_the_standard_price_is_settled_where_it_was_reserved(priced: Api) -> None:
    await reserve(priced, "r")
    usage = {**BATCH, "service_tier": "standard"}
    reply = await priced.ok("POST", "/settle", settlement(usage, api="anthropic_messages"))
    assert reply["amounts"]["usd_nano"] == 5800


@pytest.mark.parametrize("model", [MODEL, f"{MODEL}:batch"])
async def test_on_demand_is_what_a_batch_says_too(priced: Api, model: str) -> None:
    await reserve(priced, "r", model)
    usage = {"promptTokenCount": 1, "trafficType": "ON_DEMAND"}
    await priced.ok("POST", "/settle", settlement(usage, api="google_generate_content"))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"usage": {"input_tokens": 1}}, "provider_usage"),
        ({"outcome": "unknown"}, "provider_usage"),
        ({"provider_usage": {"api": "nobody", "usage": {}}}, "provider_usage.api"),
        ({"provider_usage": {"api": "openai_chat"}}, "provider_usage.usage"),
        ({"provider_usage": {"api": "openai_chat", "usage": 7}}, "provider_usage.usage"),
        ({"provider_usage": {"api": "openai_chat", "usage": {}, "x": 1}}, "provider_usage.x"),
    ],
)
async def test_a_malformed_call_is_a_400(priced: Api, changes: dict[str, Any], path: str) -> None:
    await reserve(priced, "r")
    response = await priced.post("/settle", {**settlement(CHAT), **changes})
    assert_problem(response.json(), 400, "malformed")
    assert [error["path"] for error in response.json()["errors"]] == [path]


async def test_a_key_that_appears_twice_in_the_object_is_a_400(priced: Api) -> None:
    await reserve(priced, "r")
    text = json.dumps(settlement(CHAT)).replace('"completion_tokens"', '"prompt_tokens"')
    response = await priced.post("/settle", text.encode())
    assert response.json()["errors"] == [
        {"path": "provider_usage.usage.prompt_tokens", "message": "appears twice"}
    ]


async def test_a_number_too_long_to_read_is_refused(priced: Api) -> None:
    await reserve(priced, "r")
    usage = json.dumps({**CHAT, "cost": 0}).replace('"cost": 0', f'"cost": {"9" * 5000}')
    body = json.dumps(settlement({}, api="openai_compatible")).replace("{}", usage)
    response = await priced.post("/settle", body.encode())
    assert_problem(response.json(), 422, "usage_unrecognised")
