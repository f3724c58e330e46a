"""What a settlement answers and what is kept of it are one text, written as jsonb writes it."""

import pytest

from tests.support.money import budget, tokens, usd
from tests.support.prices import ask, publish

KEPT = "select closure::text from preauth.reservation where request_id = $1"
SETTLED = "select body::text, status from preauth_api.{}_many($1)"


async def assert_written_once(ledger, call, item):
    text, status = await ledger.connection.fetchrow(SETTLED.format(call), [item])
    assert status == 200, text
    assert text == await ledger.connection.fetchval(KEPT, item["request_id"])


@pytest.fixture
async def held(ledger, clock):
    await ledger.put_account("org")
    await ledger.put_account("ann", parent_id="org")
    for account in ("org", "ann"):
        await ledger.put_budget(account, "requests", budget(limit=None, unit="requests"))
        await ledger.put_budget(account, "cap", budget(limit=1000))
    await ledger.put_budget("ann", "money", budget(limit=10**9, unit="usd_nano"))
    return ledger


@pytest.mark.parametrize("used", [70, 100, 170])
@pytest.mark.parametrize("more", [{}, {"outcome": "interrupted"}, {"provider_request_id": "p-1"}])
@pytest.mark.parametrize("is_late", [False, True])
async def test_whatever_is_spent_on_several_windows(held, used, more, is_late):
    await held.reserve("r", "ann", tokens(100) | usd(100))
    if is_late:
        await held.release("r")
    item = {"request_id": "r", "amounts": tokens(used) | usd(used) | {"requests": 2}, **more}
    await assert_written_once(held, "settle", item)


async def test_what_a_usage_costs(held):
    await publish(held)
    await ask(held, "r", "ann", {"input_tokens": 100, "output_tokens": 10})
    item = {"request_id": "r", "usage": {"input_tokens": 130, "output_tokens": 7}}
    await assert_written_once(held, "settle", item)


@pytest.mark.parametrize("action", ["settle", "accept_overage"])
async def test_what_a_person_resolves(held, action):
    await held.put_budget("ann", "cap", budget(limit=1000, overage="reject"))
    await held.reserve("r", "ann", tokens(100) | usd(100))
    await held.settle("r", tokens(150) | usd(150))
    item = {"request_id": "r", "action": action, "reason": "checked"}
    if action == "settle":
        item["amounts"] = tokens(120) | usd(90)
    await assert_written_once(held, "resolve", item)
