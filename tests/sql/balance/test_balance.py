"""Every current window of an account."""

import pytest

from tests.support.checks import assert_problem, at
from tests.support.money import DAY, MONTH, budget, tokens

MEMBERS = {
    "budget", "scope", "unit", "model", "window", "enforcement", "limit", "settled", "reserved",
    "available", "starts_at", "ends_at", "resets_at", "time_zone",
}  # fmt: skip
FILL = {"settled", "reserved", "available"}


async def test_a_window_has_the_members_of_the_contract(ledger, clock):
    await ledger.grant("ann", window=MONTH)
    await ledger.reserve("r1", "ann", tokens(400))
    await ledger.charge("c1", "ann", tokens(100))
    reply = await ledger.call("balance", account_id="ann")
    assert set(reply) == {"account_id", "as_of", "windows"}
    assert (reply["account_id"], at(reply["as_of"])) == ("ann", clock.now)
    (window,) = reply["windows"]
    assert set(window) == MEMBERS
    assert window == {
        "budget": "cap", "scope": "ann", "unit": "tokens", "model": None, "window": "2026-09",
        "enforcement": "hard", "limit": 1000, "settled": 100, "reserved": 400, "available": 500,
        "starts_at": window["starts_at"], "ends_at": window["ends_at"],
        "resets_at": window["ends_at"], "time_zone": "UTC",
    }  # fmt: skip


async def test_before_any_spend_everything_is_available(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100, window=DAY))
    await ledger.put_account("ann", plan_id="free")
    (window,) = await ledger.windows("ann", audit=False)
    assert (window["settled"], window["reserved"], window["available"]) == (0, 0, 100)
    assert window["window"] == "2026-09-14"


async def test_reading_writes_nothing(ledger, clock):
    await ledger.grant("ann", window=DAY)
    before = await ledger.contents()
    await ledger.windows("ann")
    assert await ledger.contents() == before


async def test_a_new_period_shows_as_fresh_before_any_spend_in_it(ledger, clock):
    await ledger.grant("ann", window=DAY)
    await ledger.charge("c1", "ann", tokens(400))
    clock.advance(days=1)
    (window,) = await ledger.windows("ann")
    assert (window["window"], window["settled"], window["available"]) == ("2026-09-15", 0, 1000)


async def test_shared_windows_have_no_fill_level_unless_the_caller_may_audit(ledger, clock):
    await ledger.grant("org", 5000, window=MONTH)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", window=MONTH)
    await ledger.reserve("r1", "ann", tokens(400))
    own, shared = await ledger.windows("ann", audit=False)
    assert (own["scope"], own["available"]) == ("ann", 600)
    assert (shared["scope"], shared["limit"]) == ("org", 5000)
    assert shared["resets_at"] is not None
    assert not FILL & set(shared)
    audited = await ledger.window("ann", scope="org")
    assert (audited["reserved"], audited["available"]) == (400, 4600)


async def test_an_unlimited_budget_has_neither_limit_nor_available(ledger, clock):
    await ledger.grant("ann", None)
    await ledger.charge("c1", "ann", tokens(400))
    (window,) = await ledger.windows("ann")
    assert (window["limit"], window["available"], window["settled"]) == (None, None, 400)


async def test_a_lapsed_lease_is_never_shown_as_held(ledger, clock):
    await ledger.grant("org", 5000, on_expiry="release")
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=5)
    for scope in ("ann", "org"):
        window = await ledger.window("ann", scope=scope)
        assert (window["reserved"], window["available"]) == (0, window["limit"])


async def test_an_account_without_budgets_has_no_windows(ledger, clock):
    await ledger.put_account("ann")
    assert await ledger.windows("ann") == []


async def test_retired_budgets_are_not_shown(ledger, clock):
    await ledger.grant("ann")
    await ledger.call("delete_budget", account_id="ann", name="cap")
    assert await ledger.windows("ann") == []


async def test_model_budgets_come_before_budgets_for_all(ledger, clock):
    await ledger.grant("ann", name="all")
    await ledger.grant("ann", name="opus", model="opus")
    windows = await ledger.windows("ann")
    assert [(w["budget"], w["model"]) for w in windows] == [("opus", "opus"), ("all", None)]


async def test_an_unknown_account_is_a_404(ledger, clock):
    assert_problem(await ledger.call("balance", account_id="nobody"), 404, "account_unknown")


@pytest.mark.parametrize(("within", "seen"), [("org", True), ("ann", True), ("rival", False)])
async def test_a_caller_sees_only_the_subtree_it_is_bound_to(ledger, clock, within, seen):
    await ledger.grant("rival")
    await ledger.grant("org")
    await ledger.put_account("ann", parent_id="org")
    reply = await ledger.call("balance", account_id="ann", within=within)
    if seen:
        assert reply["account_id"] == "ann"
    else:
        assert_problem(reply, 403, "forbidden")
