"""The contract through PostgREST and the clients that people use with it."""

import asyncio

import pytest

from tests.support.checks import assert_denied, assert_problem
from tests.support.money import tokens, usd
from tests.support.postgrest import token


@pytest.fixture(autouse=True)
async def ann(ledger):
    """An account with 1000 tokens for ever."""
    await ledger.grant("ann")


@pytest.fixture
def reserve(client, service_key):
    """Reserve tokens for ann."""

    def reserve(request_id, amount, key=service_key, **more):
        body = {"request_id": request_id, "account_id": "ann", "amounts": tokens(amount), **more}
        return client.call("reserve", key, **body)

    return reserve


async def test_a_reservation_is_authorized_settled_and_read(client, reserve, service_key):
    authorized = await reserve("r1", 600)
    assert (authorized.status, authorized.error) == (200, None)
    assert authorized.data["decision"] == "authorized"
    assert authorized.data["lines"][0]["available"] == 400
    assert "ratelimit" in authorized.headers

    settled = await client.call("settle", service_key, request_id="r1", amounts=tokens(250))
    assert (settled.status, settled.data["state"]) == (200, "settled")
    read = await client.call("reservation", service_key, request_id="r1")
    assert read.data["settlement"]["amounts"] == tokens(250)
    assert {step["actor"] for step in read.data["timeline"]} == {"service_role"}


async def test_a_denial_has_its_status_its_body_and_when_to_come_again(ledger, client, service_key):
    await ledger.put_budget(
        "ann",
        "monthly",
        {
            "unit": "usd_nano",
            "window": {"kind": "calendar", "period": "month"},
            "limit_amount": 500,
        },
    )
    body = {"account_id": "ann", "amounts": {**tokens(1), **usd(400)}}
    assert (await client.call("reserve", service_key, request_id="r1", **body)).status == 200

    denied = await client.call("reserve", service_key, request_id="r2", **body)

    assert (denied.status, denied.data) == (429, None)
    assert_denied(denied.problem, "budget_exhausted", budget="monthly", required=400, available=100)
    assert denied.error["code"] == "denied"
    assert denied.error["message"] == denied.problem["detail"]
    assert int(denied.headers["retry-after"]) == -(-denied.problem["retry_after_ms"] // 1000)
    assert denied.headers["content-type"].startswith("application/problem+json")


async def test_a_denial_that_waiting_cannot_help_is_a_402(reserve):
    denied = await reserve("r1", 1001)
    assert denied.status == 402
    assert_denied(denied.problem, "exceeds_limit", limit=1000, required=1001)
    assert "retry-after" not in denied.headers


async def test_a_denial_is_committed_and_final_for_its_id(ledger, reserve):
    first = await reserve("r1", 1001)
    await ledger.grant("ann", 5000)
    again = await reserve("r1", 1001)
    assert again.status == 402
    assert again.problem == {**first.problem, "replayed": True}


async def test_a_replay_gives_the_same_answer(ledger, reserve):
    first, again = await reserve("r1", 600), await reserve("r1", 600)
    assert again.data == {**first.data, "replayed": True}
    assert (await ledger.figures("ann")).reserved == 600


async def test_another_body_is_a_conflict_and_moves_nothing(ledger, reserve):
    await reserve("r1", 600)
    conflict = await reserve("r1", 601)
    assert conflict.status == 409
    assert_problem(conflict.problem, 409, "request_id_conflict")
    assert conflict.error["code"] == "request_id_conflict"
    assert (await ledger.figures("ann")).reserved == 600


async def test_a_missing_argument_is_named(client, service_key):
    refused = await client.call("reserve", service_key, request_id="r1", amounts=tokens(1))
    assert refused.status == 400
    assert_problem(refused.problem, 400, "malformed")
    assert [e["path"] for e in refused.problem["errors"]] == ["account_id"]


@pytest.mark.parametrize("amount", [1.5, "7", True, -1, 2**53, None])
async def test_only_a_whole_number_is_an_amount(ledger, client, service_key, amount):
    wanted = {"request_id": "r1", "account_id": "ann", "amounts": {"tokens": amount}}
    refused = await client.call("reserve", service_key, **wanted)
    assert refused.status == 400
    assert_problem(refused.problem, 400, "malformed")
    assert [e["path"] for e in refused.problem["errors"]] == ["amounts.tokens"]
    assert await ledger.count("reservation") == 0


async def test_an_unknown_argument_is_refused(client, service_key):
    refused = await client.call("reserve", service_key, request_id="r1", tokens=7)
    assert refused.status == 404
    assert refused.error["code"] == "PGRST202"


@pytest.mark.parametrize(("role", "status"), [(None, 401), ("anon", 401), ("authenticated", 403)])
async def test_who_is_no_service_may_not_spend(ledger, reserve, role, status):
    refused = await reserve("r1", 1, key=token(role, sub="ann") if role else None)
    assert refused.status == status
    assert refused.error["code"] == "42501"
    assert await ledger.count("reservation") == 0


async def test_a_key_that_somebody_else_signed_opens_nothing(reserve):
    forged = token("service_role")[:-4] + "AAAA"
    assert (await reserve("r1", 1, key=forged)).status == 401


async def test_fifty_calls_at_once_for_the_room_of_two(ledger, reserve):
    replies = await asyncio.gather(*(reserve(f"r{n}", 400) for n in range(50)))
    assert sorted(r.status for r in replies) == [200] * 2 + [402] * 48
    assert (await ledger.figures("ann")).reserved == 800


async def test_fifty_calls_with_one_id_make_one_reservation(ledger, reserve):
    replies = await asyncio.gather(*(reserve("same", 400) for _ in range(50)))
    assert {r.status for r in replies} == {200}
    assert [r.data["replayed"] for r in replies].count(False) == 1
    assert (await ledger.figures("ann")).reserved == 400


async def test_administration_refuses_with_its_status_too(client, service_key):
    reads = {
        "account": {"account_id": "nobody"},
        "balance": {"account_id": "nobody"},
        "plan": {"plan_id": "none"},
        "reservation": {"request_id": "none"},
    }
    for function, arguments in reads.items():
        found = await client.call(function, service_key, **arguments)
        assert found.status == found.problem["status"] == 404, function
    put = await client.call("put_account", service_key, account_id="b", body={"colour": "red"})
    assert (put.status, put.error["code"]) == (400, "malformed")


async def test_a_signed_in_user_sees_their_own_account_and_no_other(client, reserve):
    await reserve("r1", 600)
    for name, seen in (("ann", ["r1"]), ("bob", [])):
        key = token("authenticated", sub=name)
        found = await client.call("my_reservations", key)
        assert [r["request_id"] for r in found.data["items"]] == seen
    balance = await client.call("my_balance", token("authenticated", sub="ann"))
    assert balance.data["windows"][0]["available"] == 400
    refused = await client.call("balance", token("authenticated", sub="bob"), account_id="ann")
    assert (refused.status, refused.error["code"]) == (403, "42501")
    assert (await client.call("my_balance", token("anon"))).status == 401
    assert (await client.call("my_balance", token("authenticated"))).status == 403
