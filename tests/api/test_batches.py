"""An array of bodies: each item is answered as it would have been alone."""

from typing import Any

import pytest

from tests.api.client import Api, in_process, settings_for
from tests.support.checks import assert_problem
from tests.support.prices import rates


def item(number: int, amount: Any = 100, **more: Any) -> dict[str, Any]:
    return {"request_id": f"r{number}", "account_id": "a", "amounts": {"tokens": amount}, **more}


async def test_each_item_has_its_own_answer_in_the_order_of_the_array(api: Api) -> None:
    await api.grant("a")
    response = await api.post("/reserve", [item(1, 900), item(2, 900), item(3, 100)])
    assert response.status_code == 207
    statuses = [(entry["status"], entry["body"]["request_id"]) for entry in response.json()]
    assert statuses == [(200, "r1"), (402, "r2"), (200, "r3")]


async def test_a_malformed_item_fails_alone(api: Api) -> None:
    await api.grant("a")
    bad = [item(1, "7"), item(2, 7.0), item(3, unknown=1), 5, item(4)]
    entries = (await api.post("/reserve", bad)).json()
    assert [entry["status"] for entry in entries] == [400, 400, 400, 400, 200]
    assert entries[0]["body"]["errors"][0]["path"] == "amounts.tokens"


async def test_an_id_that_comes_twice_in_an_array_is_decided_once(api: Api) -> None:
    await api.grant("a")
    entries = (await api.post("/reserve", [item(1), item(1), item(1, 101)])).json()
    assert [entry["status"] for entry in entries] == [200, 200, 409]
    assert [entry["body"].get("replayed") for entry in entries] == [False, True, None]


async def test_arrays_settle_and_charge_too(api: Api) -> None:
    await api.grant("a")
    await api.post("/reserve", [item(1), item(2)])
    settle = [{"request_id": f"r{n}", "amounts": {"tokens": n}} for n in (1, 2, 9)]
    settled = (await api.post("/settle", settle)).json()
    assert [entry["status"] for entry in settled] == [200, 200, 404]
    charged = (await api.post("/charge", [item(5, 5), item(6, 2000)])).json()
    assert [entry["status"] for entry in charged] == [200, 402]
    balance = await api.ok("GET", "/accounts/a/balance")
    assert balance["windows"][0]["settled"] == 8


async def test_512_items_go_and_513_are_refused_whole(api: Api) -> None:
    await api.grant("a")
    many = [item(n, 1) for n in range(513)]
    assert_problem((await api.post("/reserve", many)).json(), 400, "malformed")
    entries = (await api.post("/reserve", many[:512])).json()
    assert {entry["status"] for entry in entries} == {200}
    balance = await api.ok("GET", "/accounts/a/balance")
    assert balance["windows"][0]["reserved"] == 512


@pytest.mark.parametrize("path", ["/release", "/extend", "/cancel"])
async def test_the_other_calls_take_no_array(api: Api, path: str) -> None:
    assert_problem((await api.post(path, [{"request_id": "r"}])).json(), 400, "malformed")


async def test_an_empty_array_is_refused(api: Api) -> None:
    assert_problem((await api.post("/reserve", [])).json(), 400, "malformed")


async def test_an_idempotency_key_cannot_stand_for_an_array(api: Api) -> None:
    response = await api.post("/reserve", [item(1)], headers={"Idempotency-Key": "r1"})
    assert_problem(response.json(), 400, "malformed")


async def test_a_bound_key_is_held_to_its_subtree_item_by_item(api: Api) -> None:
    await api.grant("a")
    await api.grant("b")
    key = await api.key("spend", "a")
    entries = (await api.post("/reserve", [item(1), item(2) | {"account_id": "b"}], key=key)).json()
    assert [entry["status"] for entry in entries] == [200, 403]


async def test_a_key_that_comes_twice_in_an_item_fails_that_item_alone(api: Api) -> None:
    await api.grant("a")
    good = b'{"request_id":"r1","account_id":"a","amounts":{"tokens":1}}'
    twice = b'{"request_id":"r2","account_id":"a","account_id":"b","amounts":{"tokens":1}}'
    entries = (await api.post("/reserve", b"[" + good + b"," + twice + b"]")).json()
    assert [entry["status"] for entry in entries] == [200, 400]
    assert entries[1]["body"]["errors"] == [{"path": "account_id", "message": "appears twice"}]


async def test_an_item_that_needs_a_reading_is_not_overtaken_by_those_that_need_none(
    api: Api,
) -> None:
    """What a settlement's object says of the variant is compared with the reservation's."""
    await api.grant("a", 10**9, unit="usd_nano")
    table = rates(input_tokens="1", output_tokens="1")
    await api.ok("POST", "/price-tables", {"model": "acme/m", "rates": table})
    bound = {
        "account_id": "a",
        "model": "acme/m",
        "max_usage": {"input_tokens": 9, "output_tokens": 9},
    }
    await api.post("/reserve", [{"request_id": f"r{n}", **bound} for n in range(5)])
    usage = {"input_tokens": 1, "output_tokens": 1, "service_tier": "standard"}
    first = {"provider_usage": {"api": "anthropic_messages", "usage": usage}}
    second = {"usage": {"input_tokens": 2, "output_tokens": 2}}
    pairs = [{"request_id": f"r{n}", **what} for n in range(5) for what in (first, second)]
    entries = (await api.post("/settle", pairs)).json()
    assert [entry["status"] for entry in entries] == [200, 409] * 5


async def test_several_lanes_keep_the_order_of_an_array(database_url: str) -> None:
    """Accounts of which nobody has heard yet: that they share a root shows in their answers."""
    async with in_process(settings_for(database_url, lanes=8, pool_size=8)) as api:
        for tree in range(6):
            await api.grant(f"org{tree}", 100)
            members = [f"org{tree}-{n}" for n in range(8)]
            for member in members:
                await api.ok("PUT", f"/accounts/{member}", {"parent_id": f"org{tree}"})
            wanted = [item(n, 90) | {"account_id": m} for n, m in enumerate(members)]
            entries = (await api.post("/reserve", [*wanted])).json()
            assert [entry["status"] for entry in entries] == [200] + [402] * 7


async def test_a_bad_item_between_good_ones_leaves_their_order_alone(api: Api) -> None:
    await api.grant("a", 100)
    entries = (await api.post("/reserve", [item(1, "7"), item(2, 90), 5, item(3, 90)])).json()
    assert [entry["status"] for entry in entries] == [400, 200, 400, 402]


async def test_an_array_of_bad_items_only_is_answered_item_by_item(api: Api) -> None:
    entries = (await api.post("/reserve", [5, 6])).json()
    assert [entry["status"] for entry in entries] == [400, 400]
