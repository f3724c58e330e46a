"""hard denies above the limit, soft above its overdraft, observe never."""

from tests.support.checks import assert_denied
from tests.support.money import tokens


async def test_a_soft_budget_may_be_overdrawn_and_says_so(ledger, clock):
    await ledger.grant("ann", 100, enforcement="soft", overdraft_amount=50)
    within = await ledger.reserve("r1", "ann", tokens(100))
    over = await ledger.reserve("r2", "ann", tokens(50))
    assert not within["over_limit"]
    assert over["over_limit"]
    assert over["lines"][0]["available"] == -50


async def test_a_soft_budget_may_be_charged_into_its_overdraft(ledger, clock):
    await ledger.grant("ann", 100, enforcement="soft", overdraft_amount=50)
    assert (await ledger.charge("c1", "ann", tokens(150)))["decision"] == "authorized"
    assert (await ledger.charge("c2", "ann", tokens(1)))["decision"] == "denied"


async def test_a_soft_budget_denies_above_its_overdraft(ledger, clock):
    await ledger.grant("ann", 100, enforcement="soft", overdraft_amount=50)
    await ledger.reserve("r1", "ann", tokens(120))
    reply = await ledger.reserve("r2", "ann", tokens(31))
    assert_denied(reply, "budget_exhausted", limit=100, required=31)
    assert (await ledger.reserve("r3", "ann", tokens(30)))["decision"] == "authorized"


async def test_a_soft_budget_denies_for_good_what_exceeds_limit_and_overdraft(ledger, clock):
    await ledger.grant("ann", 100, enforcement="soft", overdraft_amount=50)
    assert (await ledger.reserve("r1", "ann", tokens(150)))["decision"] == "authorized"
    assert_denied(await ledger.reserve("r2", "ann", tokens(151)), "exceeds_limit")


async def test_an_observing_budget_never_denies_and_counts_all(ledger, clock):
    await ledger.grant("ann", 100, enforcement="observe")
    for n in range(3):
        reply = await ledger.reserve(f"r{n}", "ann", tokens(90))
        assert reply["decision"] == "authorized"
    window = await ledger.window("ann")
    assert (window["reserved"], window["available"]) == (270, -170)


async def test_a_hard_budget_beside_an_observing_one_still_denies(ledger, clock):
    await ledger.grant("ann", 10, "watch", enforcement="observe")
    await ledger.grant("ann", 100, "cap")
    assert_denied(await ledger.reserve("r1", "ann", tokens(101)), "exceeds_limit", budget="cap")


async def test_an_unlimited_budget_counts_what_is_spent(ledger, clock):
    await ledger.grant("ann", None)
    await ledger.reserve("r1", "ann", tokens(400))
    await ledger.settle("r1", tokens(300))
    window = await ledger.window("ann")
    assert (window["limit"], window["settled"], window["reserved"]) == (None, 300, 0)
