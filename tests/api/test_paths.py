"""Ids with slashes and colons in URLs, encoded and plain."""

from urllib.parse import quote

import pytest

from service.api.paths import path_id, unify
from service.api.problems import Problem
from tests.api.client import Api

IDS = ["org/team/user", "a:b@c.d-e_f", "urn:x/y", "a//b", "a/", "/a", "..", "balance", "a/budgets"]


def routed(raw: str) -> str:
    scope = {"path": raw, "raw_path": raw.encode()}
    unify(scope)
    return scope["path"]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("/accounts/a", "/accounts/a"),
        ("/accounts/a/b", "/accounts/a%2Fb"),
        ("/accounts/a%2Fb", "/accounts/a%2Fb"),
        ("/accounts/a%2fb/balance", "/accounts/a%2Fb/balance"),
        ("/accounts/a/b/balance", "/accounts/a%2Fb/balance"),
        ("/accounts/a%2Fbalance", "/accounts/a%2Fbalance"),
        ("/accounts/balance", "/accounts/balance"),
        ("/accounts/a/b/budgets/cap", "/accounts/a%2Fb/budgets/cap"),
        ("/accounts/a%2Fbudgets%2Fcap", "/accounts/a%2Fbudgets%2Fcap"),
        ("/accounts//balance", "/accounts/%/balance"),
        ("/accounts/a%25b", "/accounts/a%25b"),
        ("/reservations/a/b/resolve", "/reservations/a%2Fb/resolve"),
        ("/reservations/a%3Ab", "/reservations/a%3Ab"),
        ("/accounts", "/accounts"),
        ("/accounts/", "/accounts/"),
        ("/reserve", "/reserve"),
        ("/docs/start.js", "/docs/start.js"),
    ],
)
def test_an_id_becomes_one_segment(raw: str, path: str) -> None:
    assert routed(raw) == path


@pytest.mark.parametrize("segment", ["%", "a%20b", "a%00", "%C3%A4", "%FF", "a" * 129, "a%0A"])
def test_what_is_no_id_is_malformed(segment: str) -> None:
    with pytest.raises(Problem) as caught:
        path_id(segment, "account_id")
    assert caught.value.members["errors"][0]["path"] == "account_id"


@pytest.mark.parametrize("account_id", IDS)
async def test_an_encoded_id_reaches_its_account(served: Api, account_id: str) -> None:
    path = "/accounts/" + quote(account_id, safe="").replace(".", "%2E")
    await served.ok("PUT", path, {})
    await served.ok(
        "PUT",
        f"{path}/budgets/cap",
        {"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 9},
    )
    assert (await served.ok("GET", path))["account_id"] == account_id
    assert (await served.ok("GET", f"{path}/balance"))["account_id"] == account_id
    request = {"request_id": account_id, "account_id": account_id, "amounts": {"tokens": 1}}
    await served.ok("POST", "/reserve", request)
    query = f"?account_id={quote(account_id, safe='')}"
    found = await served.ok("GET", f"/reservations/{path.removeprefix('/accounts/')}{query}")
    assert (found["request_id"], found["account_id"]) == (account_id, account_id)


@pytest.mark.parametrize("account_id", ["org/team/user", "urn:x/y@z"])
async def test_a_plain_id_reaches_its_account(served: Api, account_id: str) -> None:
    await served.grant(account_id)
    await served.reserve(account_id, account_id, 1)
    assert (await served.ok("GET", f"/accounts/{account_id}"))["account_id"] == account_id
    assert (await served.ok("GET", f"/accounts/{account_id}/balance"))["account_id"] == account_id
    assert (await served.ok("GET", f"/reservations/{account_id}"))["request_id"] == account_id


async def test_a_percent_in_a_query_is_decoded_once(api: Api) -> None:
    response = await api.get("/reservations/r?account_id=a%252Fb")
    assert response.status_code == 400
