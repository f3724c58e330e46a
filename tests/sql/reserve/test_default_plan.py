"""Unknown accounts are created under the default plan at their first request, or denied."""

import pytest

from tests.support.checks import assert_denied
from tests.support.money import budget, tokens


@pytest.fixture
async def free(ledger):
    await ledger.put_plan("free", budget("cap", 100))
    await ledger.connection.execute("set preauth.default_plan = 'free'")
    return ledger


async def test_an_unknown_account_gets_the_default_plan_at_its_first_reserve(free, clock):
    reply = await free.reserve("r1", "new", tokens(60))
    assert (reply["decision"], reply["lines"][0]["available"]) == ("authorized", 40)
    assert (await free.call("account", account_id="new"))["plan_id"] == "free"


async def test_an_unknown_account_gets_the_default_plan_at_its_first_charge(free, clock):
    assert (await free.charge("r1", "new", tokens(60)))["decision"] == "authorized"


async def test_an_unknown_account_is_put_under_the_default_parent(free, clock):
    await free.grant("org", 50)
    await free.connection.execute("set preauth.default_parent = 'org'")
    reply = await free.reserve("r1", "new", tokens(60))
    assert_denied(reply, "exceeds_limit", scope="org")
    assert (await free.call("account", account_id="new"))["parent_id"] == "org"


@pytest.mark.parametrize("setting", ["default_plan", "default_parent"])
async def test_a_default_that_does_not_exist_fails_no_other_item_of_the_batch(free, clock, setting):
    await free.grant("ann")
    await free.connection.execute(f"set preauth.{setting} = 'nowhere'")
    items = [{"request_id": "r1", "account_id": a, "amounts": tokens(1)} for a in ("new", "ann")]
    new, known = await free.many("reserve", items)
    assert known.body["decision"] == "authorized"
    assert new.body["decision"] in {"authorized", "denied"}


async def test_a_known_account_keeps_its_own_plan(free, clock):
    await free.grant("ann", 5000)
    assert (await free.reserve("r1", "ann", tokens(600)))["decision"] == "authorized"


async def test_a_malformed_request_creates_no_account(free, clock):
    row = await free.one("reserve", request_id="r1", account_id="new", amounts={"tokens": "7"})
    assert row.status == 400
    assert await free.count("account") == 0


async def test_a_refused_first_request_leaves_no_account_behind(free, clock):
    before = await free.contents()
    reply = await free.reserve("r1", "new", {"other": 1})
    assert reply["status"] == 422
    assert await free.contents() == before


async def test_of_a_batch_only_the_accounts_that_were_decided_are_made(free, clock):
    items = [
        {"request_id": "r1", "account_id": "refused", "amounts": {"other": 1}},
        {"request_id": "r2", "account_id": "decided", "amounts": tokens(1)},
    ]
    assert [row.status for row in await free.many("reserve", items)] == [422, 200]
    assert await free.count("account", "account_id = 'refused'") == 0
