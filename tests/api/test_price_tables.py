"""Price tables over HTTP."""

from typing import Any

import pytest

from tests.api.client import Api
from tests.support.checks import assert_problem
from tests.support.ledger import Ledger
from tests.support.prices import CHAT, MODEL, rate

BODY = {"model": MODEL, "rates": CHAT}


async def test_a_table_is_published_listed_and_got(api: Api) -> None:
    made = await api.ok("POST", "/price-tables", {**BODY, "aliases": ["chat"], "source": "a page"})
    again = await api.ok("POST", "/price-tables", BODY)
    assert again == {**made, "replayed": True}
    table = {name: value for name, value in made.items() if name != "replayed"}
    assert await api.ok("GET", f"/price-tables/{made['price_table_id']}") == table
    listed = await api.ok("GET", f"/price-tables?model={MODEL}&at=2999-01-01T00:00:00%2B02:00")
    assert listed == [table]
    assert await api.ok("GET", "/price-tables?at=2001-01-01T00:00:00Z") == []
    assert [found["name"] for found in await api.ok("GET", "/price-tables")] == [MODEL, "chat"]


async def test_it_is_published_by_the_key_that_asked(api: Api) -> None:
    made = await api.ok("POST", "/keys", {"name": "n", "role": "admin"})
    response = await api.post("/price-tables", BODY, key=made["secret"])
    assert response.json()["published_by"] == made["key_id"]


async def test_other_rates_from_the_same_instant_are_a_conflict(api: Api) -> None:
    body = {**BODY, "effective_from": "2026-09-01T00:00:00Z"}
    await api.ok("POST", "/price-tables", body)
    response = await api.post("/price-tables", {**body, "rates": {"input_tokens": rate("9")}})
    assert_problem(response.json(), 409, "price_table_conflict")


async def test_an_unknown_table_is_a_404(api: Api) -> None:
    response = await api.get("/price-tables/7")
    assert_problem(response.json(), 404, "price_table_unknown")
    assert_problem((await api.get("/price-tables/seven")).json(), 404, "not_found")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no model": ({"model": None}, "model"),
    "an unknown member": ({"colour": "red"}, "colour"),
    "an unknown dimension": ({"rates": {"thoughts": rate("1")}}, "rates.thoughts"),
    "a decimal point": ({"rates": {"input_tokens": {"micro_usd": 5.0, "per": 1}}}, "rates.input_tokens.micro_usd"),
    "a negative rate": ({"rates": {"input_tokens": {"micro_usd": -5, "per": 1}}}, "rates.input_tokens.micro_usd"),
    "no figure": ({"rates": {"input_tokens": {"per": 1}}}, "rates.input_tokens.micro_usd"),
    "per zero": ({"rates": {"input_tokens": {"micro_usd": 5, "per": 0}}}, "rates.input_tokens.per"),
    "neither rates nor tiers": ({"rates": None}, "tiers"),
    "both": ({"tiers": [{"above_input_tokens": 0, "rates": CHAT}]}, "tiers"),
    "tiers that begin elsewhere": ({"rates": None, "tiers": [{"above_input_tokens": 7, "rates": CHAT}]}, "tiers.0.above_input_tokens"),
    "a day that is not": ({"effective_from": "2026-02-30T00:00:00Z"}, "effective_from"),
    "no offset": ({"effective_from": "2026-02-20T00:00:00"}, "effective_from"),
    "after the year 9999": ({"effective_from": "9999-12-31T23:59:59-14:00"}, "effective_from"),
    "before the year 1": ({"effective_from": "0001-01-01T00:00:00+14:00"}, "effective_from"),
    "another variant": ({"variant": "fast"}, "variant"),
    "the unit tokens": ({"unit": "tokens"}, "unit"),
    "no aliases": ({"aliases": []}, "aliases"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "path"), BAD.values(), ids=BAD.keys())
async def test_a_malformed_table_is_a_400_that_names_the_field(
    api: Api, ledger: Ledger, change: dict[str, Any], path: str
) -> None:
    before = await ledger.contents()
    response = await api.post("/price-tables", {**BODY, **change})
    assert_problem(response.json(), 400, "malformed")
    assert path in [error["path"] for error in response.json()["errors"]]
    assert await ledger.contents() == before


async def test_malformed_queries_name_the_parameter(api: Api) -> None:
    years = "at=9999-12-31T23:59:59-14:00", "at=0001-01-01T00:00:00%2B14:00"
    for query in ("at=yesterday", "at=2026-09-14T12:00:00", *years, "model=a%20b", "model=a%2520b"):
        response = await api.get(f"/price-tables?{query}")
        assert_problem(response.json(), 400, "malformed")
        (error,) = response.json()["errors"]
        assert error["path"] == f"query.{query.partition('=')[0]}"


async def test_a_priced_call_goes_from_bounds_to_its_true_cost(api: Api) -> None:
    await api.grant("ann", 10**9, unit="usd_nano")
    table = (await api.ok("POST", "/price-tables", BODY))["price_table_id"]
    bounds = {"prompt_tokens": 1000, "completion_tokens": 500}
    asked = {"request_id": "r", "account_id": "ann", "model": MODEL, "max_usage": bounds}
    held = await api.ok("POST", "/reserve", asked)
    assert (held["price_table_id"], held["lines"][0]["amount"]) == (table, 10_500_000)
    usage = {"input_tokens": 10, "cached_input_tokens": 7, "output_tokens": 200}
    settled = await api.ok("POST", "/settle", {"request_id": "r", "usage": usage})
    assert settled["cost"] == {
        "usd_nano": {"input_tokens": 30000, "cached_input_tokens": 2100, "output_tokens": 3000000}
    }
    spent = {"request_id": "c", "account_id": "ann", "model": MODEL, "usage": usage}
    assert (await api.ok("POST", "/charge", spent))["cost"] == settled["cost"]


async def test_a_wrong_price_is_put_right(api: Api) -> None:
    await api.grant("ann", 10**9, unit="usd_nano")
    wrong = await api.ok("POST", "/price-tables", {"model": MODEL, "rates": {"requests": rate("2", 1000)}})  # fmt: skip
    await api.ok("POST", "/charge", {"request_id": "c", "account_id": "ann", "model": MODEL, "usage": {"requests": 1}})  # fmt: skip
    right = await api.ok("POST", "/price-tables", {"model": MODEL, "rates": {"requests": rate("1", 1000)}})  # fmt: skip
    body = {
        "wrong_table": wrong["price_table_id"],
        "right_table": right["price_table_id"],
        "since": "2001-01-01T00:00:00Z",
        "until": "2999-01-01T00:00:00+02:00",
    }
    shown = await api.ok("POST", "/price-tables/rerate", body)
    assert (shown["confirmed"], shown["difference"]) == (False, -1_000_000)
    done = await api.ok("POST", "/price-tables/rerate", {**body, "confirm": True, "reason": "slip"})
    assert done == {**shown, "confirmed": True}
    balance = await api.ok("GET", "/accounts/ann/balance")
    assert balance["windows"][0]["settled"] == 1_000_000
    (made,) = (await api.ok("GET", "/audit/adjustments?account_id=ann"))["items"]
    assert (made["actor"], made["reason"]) == ("bootstrap", "slip")


async def test_malformed_reratings_name_the_field(api: Api) -> None:
    good = {"wrong_table": 1, "right_table": 2, "since": "2026-09-01T00:00:00Z", "until": "2026-10-01T00:00:00Z"}  # fmt: skip
    for change, path in [
        ({"until": "2026-09-01T02:00:00+02:00"}, "until"),
        ({"since": "yesterday"}, "since"),
        ({"wrong_table": "1"}, "wrong_table"),
        ({"confirm": 1}, "confirm"),
        ({"right_table": 1}, "right_table"),
    ]:
        response = await api.post("/price-tables/rerate", {**good, **change})
        assert_problem(response.json(), 400, "malformed")
        assert [error["path"] for error in response.json()["errors"]] == [path]
