"""A budget is retired; its history stays."""

from tests.support.checks import assert_denied, at
from tests.support.money import budget, tokens
from tests.support.session import Figures


async def delete(ledger, name="cap", account_id="ann", **more):
    return await ledger.call("delete_budget", account_id=account_id, name=name, **more)


async def test_a_retired_budget_no_longer_decides(ledger, clock):
    await ledger.grant("ann", 10, "small")
    await ledger.grant("ann", 1000, "large")
    assert (await ledger.reserve("r1", "ann", tokens(50)))["decision"] == "denied"
    reply = await delete(ledger, "small")
    assert (reply["account_id"], reply["name"]) == ("ann", "small")
    assert at(reply["retired_at"]) == clock.now
    assert (await ledger.reserve("r2", "ann", tokens(50)))["decision"] == "authorized"


async def test_what_it_held_is_settled_where_it_was_held(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    await delete(ledger)
    (line,) = (await ledger.settle("r1", tokens(150)))["lines"]
    assert (line["settled"], line["reserved"]) == (150, 0)


async def test_its_windows_and_lines_are_kept(ledger, clock):
    await ledger.grant("ann")
    await ledger.charge("c1", "ann", tokens(400))
    before = await ledger.contents("budget_window", "hold_line", "usage_event", "reservation")
    await delete(ledger)
    after = await ledger.contents("budget_window", "hold_line", "usage_event", "reservation")
    assert after == before
    assert (await ledger.reservation("c1"))["lines"][0]["settled"] == 400


async def test_the_plans_budget_of_the_same_name_applies_again(ledger, clock):
    await ledger.put_plan("free", budget("cap", 10))
    await ledger.put_account("ann", plan_id="free")
    await ledger.grant("ann", 1000)
    await delete(ledger)
    assert_denied(await ledger.reserve("r1", "ann", tokens(50)), "exceeds_limit", limit=10)


async def test_a_budget_put_again_under_the_name_decides_again(ledger, clock):
    await ledger.grant("ann")
    await delete(ledger)
    await ledger.grant("ann", 30)
    assert_denied(await ledger.reserve("r1", "ann", tokens(50)), "exceeds_limit", limit=30)
    assert (await ledger.reserve("r2", "ann", tokens(30)))["decision"] == "authorized"


async def test_what_is_not_there_is_a_404_and_changes_nothing(ledger, clock):
    await ledger.grant("ann")
    before = await ledger.contents()
    assert (await delete(ledger, "other"))["status"] == 404
    assert (await delete(ledger, account_id="nobody"))["status"] == 404
    assert await ledger.contents() == before


async def test_the_reason_and_the_actor_are_recorded(ledger, clock):
    await ledger.grant("ann")
    await delete(ledger, actor="key_carla", reason="end of trial")
    row = await ledger.connection.fetchrow(
        "select * from preauth.change_log where actor = 'key_carla'"
    )
    assert (row["reason"], row["after"]) == ("end of trial", None)


async def test_other_accounts_keep_theirs(ledger, clock):
    await ledger.grant("ann")
    await ledger.grant("bob")
    await delete(ledger)
    await ledger.charge("c1", "bob", tokens(400))
    assert await ledger.figures("bob") == Figures(400, 0, 600)
