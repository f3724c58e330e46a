"""Accounts form a tree."""

import pytest

from tests.support.checks import assert_denied, assert_problem, at
from tests.support.money import DAY, budget, tokens

MEMBERS = {
    "account_id", "plan_id", "parent_id", "path", "time_zone", "cycle_anchor", "status",
    "max_open_holds", "created_at",
}  # fmt: skip


async def test_an_account_is_made_with_its_defaults(ledger, clock):
    reply = await ledger.put_account("ann")
    assert set(reply) == MEMBERS
    assert (reply["status"], reply["time_zone"]) == ("active", "UTC")
    assert reply["plan_id"] is reply["parent_id"] is reply["max_open_holds"] is None
    assert at(reply["created_at"]) == clock.now


async def test_an_account_is_read_with_its_own_budgets(ledger, clock):
    await ledger.grant("ann", 700)
    reply = await ledger.call("account", account_id="ann")
    assert set(reply) >= MEMBERS
    assert [(b["name"], b["limit_amount"]) for b in reply["budgets"]] == [("cap", 700)]


async def test_what_is_left_out_is_kept_and_null_clears(ledger, clock):
    await ledger.put_plan("free", budget("cap"))
    await ledger.put_account("ann", plan_id="free", max_open_holds=3, time_zone="Asia/Tokyo")
    kept = await ledger.put_account("ann", status="suspended")
    assert (kept["plan_id"], kept["max_open_holds"], kept["time_zone"]) == ("free", 3, "Asia/Tokyo")
    cleared = await ledger.put_account("ann", plan_id=None, max_open_holds=None)
    assert cleared["plan_id"] is cleared["max_open_holds"] is None
    assert cleared["status"] == "suspended"


async def test_a_cleared_time_zone_is_utc_again(ledger, clock):
    await ledger.put_account("ann", time_zone="Asia/Tokyo")
    assert (await ledger.put_account("ann", time_zone=None))["time_zone"] == "UTC"


async def test_the_path_leads_to_the_root(ledger, clock):
    await ledger.put_account("org")
    await ledger.put_account("team", parent_id="org")
    reply = await ledger.put_account("ann", parent_id="team")
    assert sorted(reply["path"]) == ["ann", "org", "team"]
    assert reply["path"] in (["org", "team", "ann"], ["ann", "team", "org"])


async def test_an_unknown_plan_or_parent_is_refused(ledger, clock):
    before = await ledger.contents()
    for member in ("plan_id", "parent_id"):
        reply = await ledger.put_account("ann", **{member: "nobody"})
        assert reply["status"] in {400, 404, 422}, reply
    assert await ledger.contents() == before


@pytest.mark.parametrize("parent", ["org", "team", "ann"])
async def test_no_account_becomes_its_own_ancestor(ledger, clock, parent):
    await ledger.put_account("org")
    await ledger.put_account("team", parent_id="org")
    await ledger.put_account("ann", parent_id="team")
    before = await ledger.contents()
    reply = await ledger.put_account("org", parent_id=parent)
    assert reply["status"] in {400, 409, 422}, reply
    assert await ledger.contents() == before


async def test_an_account_under_a_new_parent_spends_from_the_new_parents_budgets(ledger, clock):
    await ledger.grant("old", 1000)
    await ledger.grant("new", 50)
    await ledger.put_account("ann", parent_id="old")
    assert (await ledger.charge("c1", "ann", tokens(60)))["decision"] == "authorized"
    moved = await ledger.put_account("ann", parent_id="new")
    if "status" in moved and moved["status"] != "active":
        assert moved["status"] in {400, 409, 422}  # refusing to move accounts is allowed too
        return
    assert_denied(await ledger.charge("c2", "ann", tokens(60)), "exceeds_limit", scope="new")


async def test_the_windows_of_an_account_are_in_its_zone(ledger, clock):
    clock.set("2026-07-31T15:00:00Z")
    await ledger.put_account("ann", time_zone="Asia/Tokyo")
    await ledger.grant("ann", window=DAY)
    assert (await ledger.window("ann"))["window"] == "2026-08-01"


async def test_a_plans_budget_is_counted_in_each_accounts_own_zone(ledger, clock):
    clock.set("2026-07-31T15:00:00Z")
    await ledger.put_plan("free", budget("cap", window=DAY))
    await ledger.put_account("ann", plan_id="free", time_zone="Asia/Tokyo")
    await ledger.put_account("bob", plan_id="free", time_zone="America/New_York")
    assert (await ledger.window("ann"))["window"] == "2026-08-01"
    assert (await ledger.window("bob"))["window"] == "2026-07-31"


BAD = {
    "another zone": {"time_zone": "Mars/Olympus"},
    "an empty zone": {"time_zone": ""},
    "a zone as number": {"time_zone": 2},
    "another status": {"status": "asleep"},
    "a status of null": {"status": "null"},
    "holds as text": {"max_open_holds": "3"},
    "a fraction of a hold": {"max_open_holds": 3.5},
    "minus one hold": {"max_open_holds": -1},
    "holds of true": {"max_open_holds": True},
    "another date": {"cycle_anchor": "2026-02-30"},
    "a date as number": {"cycle_anchor": 20260101},
    "a plan with a space": {"plan_id": "a b"},
    "a parent as list": {"parent_id": ["org"]},
    "an unknown member": {"colour": "red"},
    "its own id in the body": {"account_id": "bob"},
    "the path, which is worked out": {"path": ["ann"]},
}


async def test_malformed_accounts_name_the_field_and_write_nothing(ledger, clock):
    before, wrong = await ledger.contents(), []
    for why, body in BAD.items():
        reply = await ledger.call("put_account", account_id="ann", body=body)
        (member,) = body
        if reply.get("status") != 400 or member not in str(reply.get("errors")):
            wrong.append((why, reply))
    assert wrong == []
    assert await ledger.contents() == before


@pytest.mark.parametrize("account_id", ["", "a b", "a" * 129, "ä"])
async def test_an_account_id_is_an_id(ledger, clock, account_id):
    assert_problem(await ledger.put_account(account_id), 400, "malformed")
    assert await ledger.count("account") == 0


async def test_every_change_is_recorded(ledger, clock):
    await ledger.put_account("ann")
    body = {"status": "suspended", "reason": "abuse"}
    await ledger.call("put_account", account_id="ann", body=body, actor="key_carla")
    rows = await ledger.connection.fetch(
        "select actor, before, after, reason from preauth.change_log where subject_id = 'ann' order by change_id"
    )
    assert rows[0]["before"] is None
    assert (rows[1]["actor"], rows[1]["reason"]) == ("key_carla", "abuse")
    assert rows[1]["before"]["status"] == "active"
    assert rows[1]["after"]["status"] == "suspended"


async def test_an_unknown_account_is_a_404(ledger, clock):
    assert_problem(await ledger.call("account", account_id="nobody"), 404, "account_unknown")


async def test_an_account_is_read_only_within_the_callers_subtree(ledger, clock):
    await ledger.grant("org")
    await ledger.put_account("ann", parent_id="org")
    await ledger.put_account("rival")
    assert (await ledger.call("account", account_id="ann", within="org"))["account_id"] == "ann"
    reply = await ledger.call("account", account_id="rival", within="org")
    assert_problem(reply, 403, "forbidden")


async def test_an_account_without_an_id_is_malformed(ledger, clock):
    reply = await ledger.call("put_account", account_id=None, body={})
    assert_problem(reply, 400, "malformed")
    assert reply["errors"] == [{"path": "account_id", "message": "must be a string"}]


async def test_a_tree_is_no_more_than_sixteen_deep_however_it_grows(ledger, clock):
    await ledger.put_account("d1")
    for depth in range(2, 17):
        reply = await ledger.put_account(f"d{depth}", parent_id=f"d{depth - 1}")
        assert len(reply["path"]) == depth
    await ledger.put_account("top")
    before = await ledger.contents()
    for account_id, parent_id in (("d17", "d16"), ("d1", "top"), ("top", "d16")):
        reply = await ledger.put_account(account_id, parent_id=parent_id)
        assert_problem(reply, 422, "account_too_deep")
    assert await ledger.contents() == before
