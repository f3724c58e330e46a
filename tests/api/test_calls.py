"""The calls over HTTP: what the ledger says arrives as it stands."""

import asyncio

import pytest

from service.api.calls import REASONS
from tests.api.client import Api, in_process, settings_for
from tests.support.checks import assert_denied, assert_problem, assert_same
from tests.support.ledger import Ledger
from tests.support.waits import until


async def test_a_reservation_lives_from_hold_to_settlement(api: Api) -> None:
    await api.grant("a")
    held = await api.reserve("r", "a", 400)
    assert (held.status_code, held.headers["content-type"]) == (200, "application/json")
    body = held.json()
    assert (body["decision"], body["state"], body["chosen_alternative"]) == (
        "authorized",
        "authorized",
        None,
    )
    extended = await api.ok("POST", "/extend", {"request_id": "r", "ttl_seconds": 600})
    assert extended["expires_at"] > body["expires_at"]
    cancelled = await api.ok("POST", "/cancel", {"request_id": "r"})
    assert cancelled["state"] == "cancellation_requested"
    settled = await api.ok("POST", "/settle", {"request_id": "r", "amounts": {"tokens": 150}})
    assert settled["lines"][0]["available"] == 850


async def test_a_request_sent_again_is_answered_again(api: Api) -> None:
    await api.grant("a")
    first = (await api.reserve("r", "a", 400)).json()
    assert_same(first, (await api.reserve("r", "a", 400)).json())
    settle = {"request_id": "r", "amounts": {"tokens": 1}}
    assert_same(await api.ok("POST", "/settle", settle), await api.ok("POST", "/settle", settle))


async def test_fifty_equal_requests_at_once_make_one_hold_over_sockets(served: Api) -> None:
    await served.grant("a")
    replies = await asyncio.gather(*(served.reserve("r", "a", 400) for _ in range(50)))
    assert {reply.status_code for reply in replies} == {200}
    bodies = [{**reply.json(), "replayed": None} for reply in replies]
    assert all(body == bodies[0] for body in bodies)
    balance = await served.ok("GET", "/accounts/a/balance")
    assert balance["windows"][0]["reserved"] == 400


@pytest.mark.parametrize(
    ("call", "body", "status", "code"),
    [
        ("/reserve", {"request_id": "r", "account_id": "a", "amounts": {"tokens": 1}}, 409, "request_id_conflict"),
        ("/settle", {"request_id": "none", "amounts": {"tokens": 1}}, 404, "reservation_unknown"),
        ("/release", {"request_id": "none", "reason": "x"}, 404, "reservation_unknown"),
        ("/settle", {"request_id": "denied", "amounts": {"tokens": 1}}, 409, "not_authorized"),
        ("/reserve", {"request_id": "n", "account_id": "a", "amounts": {"other": 1}}, 422, "amount_missing"),
    ],
)  # fmt: skip
async def test_a_refusal_is_a_problem_document(
    api: Api, call: str, body: dict[str, object], status: int, code: str
) -> None:
    await api.grant("a")
    await api.reserve("r", "a", 400)
    await api.reserve("denied", "a", 4000)
    response = await api.post(call, body)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert_problem(response.json(), status, code)


async def test_a_denial_is_429_with_retry_after_and_the_reason(api: Api) -> None:
    await api.grant("a", window={"kind": "calendar", "period": "day"})
    await api.reserve("r", "a", 900)
    denied = await api.reserve("s", "a", 200)
    assert denied.status_code == 429
    assert_denied(denied.json(), "budget_exhausted", limit=1000, required=200, available=100)
    assert int(denied.headers["retry-after"]) * 1000 >= denied.json()["retry_after_ms"] > 0


async def test_authorizations_and_denials_tell_the_rate_limit(api: Api) -> None:
    await api.grant("a", window={"kind": "calendar", "period": "day"})
    for request_id, amount in [("r", 900), ("s", 200)]:
        response = await api.reserve(request_id, "a", amount)
        assert "cap" in response.headers["ratelimit"]
        assert "cap" in response.headers["ratelimit-policy"]


async def test_a_setting_makes_every_denial_a_402(database_url: str) -> None:
    async with in_process(settings_for(database_url, denial_status=402)) as api:
        await api.grant("a", window={"kind": "calendar", "period": "day"})
        await api.reserve("r", "a", 900)
        denied = await api.reserve("s", "a", 200)
        assert (denied.status_code, denied.json()["status"]) == (402, 402)
        assert_denied(denied.json(), "budget_exhausted", available=100)
        refused = await api.post("/settle", {"request_id": "none", "amounts": {"tokens": 1}})
        assert refused.status_code == 404


async def test_a_person_resolves_an_overage_under_review(api: Api) -> None:
    await api.grant("a", overage="reject")
    await api.reserve("r", "a", 100)
    settle = {"request_id": "r", "amounts": {"tokens": 150}}
    refused = await api.post("/settle", settle)
    assert_problem(refused.json(), 409, "settlement_exceeds_hold")
    resolved = await api.ok(
        "POST",
        "/reservations/r/resolve",
        {"action": "accept_overage", "reason": "seen the invoice"},
    )
    assert (resolved["resolved"], resolved["state"]) == (True, "settled")
    balance = await api.ok("GET", "/accounts/a/balance")
    assert (balance["windows"][0]["settled"], balance["windows"][0]["reserved"]) == (150, 0)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"action": "settle", "reason": "x"}, "amounts"),
        ({"action": "release", "amounts": {"tokens": 1}, "reason": "x"}, "amounts"),
        ({"action": "forget", "reason": "x"}, "action"),
        ({"action": "release"}, "reason"),
        ({"action": "release", "reason": "x", "request_id": "r"}, "request_id"),
    ],
)
async def test_a_malformed_resolution_names_the_field(
    api: Api, body: dict[str, object], path: str
) -> None:
    response = await api.post("/reservations/r/resolve", body)
    assert response.status_code == 400
    assert response.json()["errors"][0]["path"] == path


async def test_a_dry_run_writes_nothing(api: Api, ledger: Ledger) -> None:
    await api.grant("a")
    before = await ledger.contents("reservation", "hold_line")
    answer = await api.reserve("r", "a", 400, dry_run=True)
    assert (answer.status_code, answer.json()["dry_run"]) == (200, True)
    assert await ledger.contents("reservation", "hold_line") == before


async def test_a_default_plan_takes_in_unknown_accounts(database_url: str) -> None:
    async with in_process(settings_for(database_url, default_plan="free")) as api:
        budget = {
            "name": "cap",
            "unit": "tokens",
            "window": {"kind": "lifetime"},
            "limit_amount": 500,
        }
        await api.ok("PUT", "/plans/free", {"budgets": [budget]})
        assert (await api.reserve("r", "never-seen", 400)).status_code == 200
        assert (await api.ok("GET", "/accounts/never-seen"))["plan_id"] == "free"


async def test_without_a_default_plan_an_unknown_account_is_denied(api: Api) -> None:
    denied = await api.reserve("r", "never-seen", 400)
    assert denied.status_code in {402, 429}
    assert_denied(denied.json(), "account_unknown")


async def test_the_actor_of_every_event_is_the_key(api: Api) -> None:
    await api.grant("a")
    key = await api.ok("POST", "/keys", {"name": "chat", "role": "spend"})
    await api.reserve("r", "a", 1, key=key["secret"])
    timeline = (await api.ok("GET", "/reservations/r"))["timeline"]
    assert {event["actor"] for event in timeline} == {key["key_id"]}


async def test_the_expiry_loop_lets_holds_lapse(database_url: str) -> None:
    async with in_process(settings_for(database_url, expiry_interval_seconds=0.05)) as api:
        await api.grant("a", on_expiry="charge")
        await api.reserve("r", "a", 400, ttl_seconds=1)

        async def settled() -> bool:
            return bool((await api.ok("GET", "/reservations/r"))["state"] == "settled")

        await until(settled, "the hold was charged")


def test_the_reasons_are_those_of_the_contract() -> None:
    assert set(REASONS) == {
        "budget_exhausted", "exceeds_limit", "too_many_holds",
        "account_unknown", "account_suspended", "no_budget",
    }  # fmt: skip


async def test_a_reservation_is_read_by_its_account_where_two_have_its_id(api: Api) -> None:
    for account in ("mine", "yours"):
        await api.grant(account)
        await api.reserve("r", account, 1)
    found = await api.ok("GET", "/reservations/r", params={"account_id": "yours"})
    assert found["account_id"] == "yours"
    assert_problem((await api.get("/reservations/r")).json(), 409, "account_id_required")
