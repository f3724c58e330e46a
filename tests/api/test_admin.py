"""Plans, accounts and budgets over HTTP."""

from typing import Any

import pytest

from tests.api.client import Api
from tests.support.checks import assert_problem
from tests.support.ledger import Ledger

CAP = {"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1000}


async def test_a_plan_is_put_and_got(api: Api) -> None:
    put = await api.ok("PUT", "/plans/free", {"budgets": [{"name": "cap", **CAP}], "reason": "new"})
    got = await api.ok("GET", "/plans/free")
    assert put == got
    assert [budget["name"] for budget in got["budgets"]] == ["cap"]


async def test_the_budgets_that_a_plan_answers_with_may_be_put_again(api: Api) -> None:
    soft = {**CAP, "name": "soft", "enforcement": "soft", "overdraft_amount": 5}
    put = await api.ok("PUT", "/plans/p", {"budgets": [{"name": "cap", **CAP}, soft]})
    again = await api.ok("PUT", "/plans/p", {"budgets": put["budgets"]})
    assert again["budgets"] == put["budgets"]


async def test_an_account_is_put_merged_and_got(api: Api) -> None:
    await api.ok("PUT", "/accounts/org", {})
    await api.ok(
        "PUT", "/accounts/a", {"parent_id": "org", "time_zone": "Asia/Tokyo", "max_open_holds": 3}
    )
    merged = await api.ok(
        "PUT", "/accounts/a", {"max_open_holds": None, "cycle_anchor": "2026-01-31"}
    )
    assert (merged["time_zone"], merged["max_open_holds"], merged["cycle_anchor"]) == (
        "Asia/Tokyo",
        None,
        "2026-01-31",
    )
    assert merged["path"] == ["a", "org"]
    assert (await api.ok("GET", "/accounts/a"))["parent_id"] == "org"


async def test_a_budget_of_an_account_is_put_and_retired(api: Api) -> None:
    await api.grant("a")
    assert [b["name"] for b in (await api.ok("GET", "/accounts/a"))["budgets"]] == ["cap"]
    retired = await api.ok("DELETE", "/accounts/a/budgets/cap?reason=no%20more")
    assert (retired["account_id"], retired["name"]) == ("a", "cap")
    again = await api.delete("/accounts/a/budgets/cap")
    assert_problem(again.json(), 404, "budget_unknown")


async def test_changes_are_recorded_with_actor_and_reason(api: Api, ledger: Ledger) -> None:
    key = await api.ok("POST", "/keys", {"name": "n", "role": "admin"})
    await api.ok("PUT", "/accounts/a", {"reason": "a new customer"}, key=key["secret"])
    found = await ledger.connection.fetch("select to_jsonb(c)::text from preauth.change_log c")
    text = " ".join(row[0] for row in found)
    assert key["key_id"] in text
    assert "a new customer" in text


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/plans/p", {}, "budgets"),
        ("/plans/p", {"budgets": [{**CAP, "name": "Cap"}]}, "budgets.0.name"),
        ("/plans/p", {"budgets": [{**CAP, "name": "cap", "limit": 1}]}, "budgets.0.limit"),
        ("/plans/p", {"budgets": [], "apply": "later"}, "apply"),
        ("/accounts/a/budgets/cap", {"unit": "tokens", "window": {"kind": "lifetime"}}, "limit_amount"),
        ("/accounts/a/budgets/cap", {**CAP, "limit_amount": 1.0}, "limit_amount"),
        ("/accounts/a/budgets/cap", {**CAP, "limit_amount": 2**53}, "limit_amount"),
        ("/accounts/a/budgets/cap", {**CAP, "window": {"kind": "rolling", "seconds": 60}}, "window.slices"),
        ("/accounts/a/budgets/cap", {**CAP, "window": {"kind": "cycle", "period": "week"}}, "window.period"),
        ("/accounts/a/budgets/cap", {**CAP, "thresholds": [0]}, "thresholds.0"),
        ("/accounts/a/budgets/cap", {**CAP, "thresholds": [8, 8]}, "thresholds"),
        ("/accounts/a/budgets/cap", {**CAP, "window": {"kind": "calendar", "period": "decade"}}, "window.period"),
        ("/accounts/a/budgets/cap", {**CAP, "window": {"kind": "fixed", "seconds": "60"}}, "window.seconds"),
        ("/accounts/a/budgets/cap", {**CAP, "window": {"kind": "fixed"}}, "window.seconds"),
        ("/accounts/a/budgets/cap", {**CAP, "window": {"kind": "lifetime", "seconds": 60}}, "window.seconds"),
        ("/accounts/a/budgets/cap", {**CAP, "name": "cap"}, "name"),
        ("/accounts/a/budgets/cap", {**CAP, "overdraft_amount": 1}, "overdraft_amount"),
        ("/accounts/a/budgets/cap", {**CAP, "enforcement": "hard", "overdraft_amount": 1}, "overdraft_amount"),
        ("/accounts/a/budgets/Cap", CAP, "name"),
        ("/accounts/a", {"status": "closed"}, "status"),
        ("/accounts/a", {"status": None}, "status"),
        ("/accounts/a", {"max_open_holds": -1}, "max_open_holds"),
        ("/accounts/a", {"max_open_holds": True}, "max_open_holds"),
        ("/accounts/a", {"cycle_anchor": "2026-02-30"}, "cycle_anchor"),
        ("/accounts/a", {"time_zone": "Mars/Olympus"}, "time_zone"),
        ("/accounts/a", {"account_id": "a"}, "account_id"),
        ("/accounts/a%20b", {}, "account_id"),
    ],
)  # fmt: skip
async def test_a_malformed_change_names_the_field_and_changes_nothing(
    api: Api, ledger: Ledger, path: str, body: dict[str, Any], field: str
) -> None:
    await api.ok("PUT", "/accounts/a", {})
    before = await ledger.contents()
    response = await api.put(path, body)
    assert response.status_code == 400, response.text
    assert response.json()["errors"][0]["path"] == field
    assert await ledger.contents() == before


@pytest.mark.parametrize("path", ["/accounts/none/balance", "/accounts/none"])
async def test_an_unknown_account_is_a_404(api: Api, path: str) -> None:
    assert_problem((await api.get(path)).json(), 404, "account_unknown")


async def test_unknown_plans_keys_and_reservations_are_404s(api: Api) -> None:
    assert_problem((await api.get("/plans/none")).json(), 404, "plan_unknown")
    assert_problem((await api.get("/reservations/none")).json(), 404, "reservation_unknown")
    assert_problem((await api.delete("/keys/none")).json(), 404, "key_unknown")


async def test_a_delete_with_a_body_is_a_400(api: Api) -> None:
    await api.grant("a")
    response = await api.send("DELETE", "/accounts/a/budgets/cap", {"reason": "x"})
    assert response.status_code == 400
