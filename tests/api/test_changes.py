"""Changes of plans, raises and corrections over HTTP."""

from typing import Any

import pytest

from tests.api.client import Api, in_process, settings_for
from tests.support.checks import assert_problem
from tests.support.clock import Clock
from tests.support.ledger import Ledger
from tests.support.waits import until

MONTH = {"kind": "calendar", "period": "month"}


def cap(limit: int, **more: Any) -> dict[str, Any]:
    return {"name": "cap", "unit": "tokens", "window": MONTH, "limit_amount": limit, **more}


@pytest.fixture
async def spent(api: Api, clock: Clock) -> Api:
    """user/1 has spent 600 of free's 1000 tokens a month; pro has 5000."""
    await api.ok("PUT", "/plans/free", {"budgets": [cap(1000)]})
    await api.ok("PUT", "/plans/pro", {"budgets": [cap(5000)]})
    await api.ok("PUT", "/accounts/user/1", {"plan_id": "free"})
    body = {"request_id": "c1", "account_id": "user/1", "amounts": {"tokens": 600}}
    await api.ok("POST", "/charge", body)
    return api


async def window(api: Api) -> dict[str, Any]:
    (found,) = (await api.ok("GET", "/accounts/user/1/balance"))["windows"]
    return dict(found)


async def test_a_plan_is_changed_now_and_the_next_request_feels_it(spent: Api) -> None:
    reply = await spent.ok("POST", "/accounts/user/1/plan", {"plan_id": "pro", "reason": "paid"})
    assert reply["plan_id"] == "pro"
    body = {"request_id": "r1", "account_id": "user/1", "amounts": {"tokens": 4400}}
    assert (await spent.ok("POST", "/reserve", body))["lines"][0]["available"] == 0


async def test_a_plan_is_changed_later(spent: Api) -> None:
    body = {"plan_id": "pro", "apply": "next_window"}
    reply = await spent.ok("POST", "/accounts/user/1/plan", body)
    assert (reply["plan_id"], reply["next_plan_id"]) == ("free", "pro")
    assert reply["plan_changes_at"] == "2026-10-01T00:00:00.000000Z"
    at = await spent.ok("POST", "/accounts/user/1/plan", {"plan_id": "pro", "at": "2026-09-20T10:00:00+02:00"})  # fmt: skip
    assert at["plan_changes_at"] == "2026-09-20T08:00:00.000000Z"
    assert (await window(spent))["limit"] == 1000


async def test_the_loop_writes_a_plan_change_down_when_its_time_has_come(
    database_url: str, ledger: Ledger, clock: Clock
) -> None:
    await ledger.put_plan("free", cap(1000))
    await ledger.put_plan("pro", cap(5000))
    await ledger.put_account("ann", plan_id="free")
    body = {"plan_id": "pro", "at": "2026-09-20T08:00:00Z"}
    await ledger.call("switch_plan", account_id="ann", body=body)
    clock.set("2026-09-20T08:00:00Z")

    async def written() -> bool:
        return (await ledger.call("account", account_id="ann"))["plan_id"] == "pro"

    async with in_process(settings_for(database_url, expiry_interval_seconds=0.05)):
        await until(written, "the plan has changed")


async def test_an_adjustment_moves_once(spent: Api) -> None:
    body = {"budget": "cap", "amount": -250, "reason": "wrong price", "idempotency_key": "k1"}
    first = await spent.ok("POST", "/accounts/user%2F1/adjustments", body)
    again = await spent.ok("POST", "/accounts/user/1/adjustments", body)
    assert (first["settled"], first["available"], first["replayed"]) == (350, 650, False)
    assert again == first | {"replayed": True}
    other = await spent.post("/accounts/user/1/adjustments", body | {"amount": -1})
    assert_problem(other.json(), 409, "request_id_conflict")
    assert (await window(spent))["settled"] == 350


async def test_an_idempotency_key_header_must_be_the_bodys(spent: Api) -> None:
    body = {"budget": "cap", "amount": 1, "reason": "x", "idempotency_key": "k1"}
    path = "/accounts/user/1/adjustments"
    wrong = await spent.post(path, body, headers={"Idempotency-Key": "k2"})
    assert wrong.json()["errors"][0]["path"] == "header.idempotency-key"
    assert (await spent.post(path, body, headers={"Idempotency-Key": "k1"})).status_code == 200


async def test_a_reset_leaves_nothing_settled(spent: Api) -> None:
    reply = await spent.ok("POST", "/accounts/user/1/reset", {"budget": "cap", "reason": "sorry"})
    assert (reply["amount"], reply["settled"], reply["idempotency_key"]) == (-600, 0, None)


async def test_a_raise_is_put_and_ended(spent: Api) -> None:
    path = "/accounts/user/1/budgets/cap/raise"
    reply = await spent.ok("PUT", path, {"amount": 500, "expires_at": "2026-09-18T12:00:00Z"})
    assert reply["amount"] == 500
    assert (await window(spent))["limit"] == 1500
    ended = await spent.ok("DELETE", f"{path}?reason=enough")
    assert ended["ended_at"] == "2026-09-14T12:00:00.000000Z"
    assert (await window(spent))["limit"] == 1000
    assert_problem((await spent.delete(path)).json(), 404, "raise_unknown")


async def test_what_is_given_back_beyond_what_was_spent_shows_as_less_than_0(spent: Api) -> None:
    body = {"budget": "cap", "amount": -1000, "reason": "credit", "idempotency_key": "k1"}
    assert (await spent.ok("POST", "/accounts/user/1/adjustments", body))["settled"] == -400
    assert (await window(spent))["settled"] == -400


async def test_a_budget_rolls_over(spent: Api, clock: Clock) -> None:
    await spent.ok("PUT", "/plans/free", {"budgets": [cap(1000, rollover={"max": 300})]})
    clock.set("2026-10-01T00:00:00Z")
    assert (await window(spent))["limit"] == 1300


async def test_the_key_that_made_a_change_is_in_the_log(spent: Api, ledger: Ledger) -> None:
    key = await spent.ok("POST", "/keys", {"name": "n", "role": "admin"})
    await spent.ok("POST", "/accounts/user/1/plan", {"plan_id": "pro"}, key=key["secret"])
    await spent.ok("POST", "/accounts/user/1/reset", {"budget": "cap", "reason": "x"}, key=key["secret"])  # fmt: skip
    actors = await ledger.connection.fetch(
        "select subject from preauth.change_log where actor = $1 order by change_id", key["key_id"]
    )
    assert [row["subject"] for row in actors] == ["account", "window"]


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "plan", {}, "plan_id"),
        ("POST", "plan", {"plan_id": None}, "plan_id"),
        ("POST", "plan", {"plan_id": "pro", "apply": "later"}, "apply"),
        ("POST", "plan", {"plan_id": "pro", "at": "tomorrow"}, "at"),
        ("POST", "plan", {"plan_id": "pro", "at": "2026-02-30T00:00:00Z"}, "at"),
        ("POST", "plan", {"plan_id": "pro", "apply": "now", "at": "2099-01-01T00:00:00Z"}, "at"),
        ("POST", "adjustments", {"budget": "cap", "reason": "x", "idempotency_key": "k"}, "amount"),
        ("POST", "adjustments", {"budget": "cap", "amount": 0, "reason": "x", "idempotency_key": "k"}, "amount"),
        ("POST", "adjustments", {"budget": "cap", "amount": 1.5, "reason": "x", "idempotency_key": "k"}, "amount"),
        ("POST", "adjustments", {"budget": "cap", "amount": 1, "reason": "x"}, "idempotency_key"),
        ("POST", "adjustments", {"budget": "cap", "amount": 1, "idempotency_key": "k"}, "reason"),
        ("POST", "reset", {"reason": "x"}, "budget"),
        ("POST", "reset", {"budget": "cap"}, "reason"),
        ("POST", "reset", {"budget": "cap", "reason": "x", "amount": 1}, "amount"),
        ("PUT", "budgets/cap/raise", {"amount": 1}, "expires_at"),
        ("PUT", "budgets/cap/raise", {"amount": 0, "expires_at": "2099-01-01T00:00:00Z"}, "amount"),
        ("PUT", "budgets/cap", {**cap(1), "rollover": {"max": -1}}, "rollover.max"),
        ("PUT", "budgets/cap", {"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1, "rollover": {"max": 1}}, "rollover"),
    ],
)  # fmt: skip
async def test_a_malformed_change_names_the_field_and_changes_nothing(
    spent: Api, ledger: Ledger, method: str, path: str, body: dict[str, Any], field: str
) -> None:
    before = await ledger.contents()
    body.pop("name", None)
    response = await spent.send(method, f"/accounts/user/1/{path}", body)
    assert response.status_code == 400, response.text
    assert response.json()["errors"][0]["path"] == field
    assert await ledger.contents() == before


@pytest.mark.parametrize("role", ["spend", "audit"])
async def test_only_admins_change(spent: Api, role: str) -> None:
    key = await spent.key(role)
    for method, path in (
        ("POST", "plan"), ("POST", "adjustments"), ("POST", "reset"),
        ("PUT", "budgets/cap/raise"), ("DELETE", "budgets/cap/raise"),
    ):  # fmt: skip
        response = await spent.send(method, f"/accounts/user/1/{path}", {}, key=key)
        assert response.status_code == 403, (method, path)
