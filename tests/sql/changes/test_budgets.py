"""Budgets that come, go and come back while their windows run."""

from tests.support.money import DAY, MONTH, budget, tokens
from tests.support.session import Figures


async def test_a_budget_with_another_window_begins_at_nothing(ledger, clock):
    await ledger.grant("ann", 1000, window=MONTH)
    await ledger.charge("c1", "ann", tokens(600))
    await ledger.reserve("r1", "ann", tokens(100))
    await ledger.grant("ann", 1000, window=DAY)
    assert await ledger.figures("ann") == Figures(0, 0, 1000)
    await ledger.settle("r1", tokens(80))
    assert await ledger.figures("ann") == Figures(0, 0, 1000)


async def test_a_budget_put_again_goes_on_where_it_stood(ledger, clock):
    await ledger.grant("ann", 1000, window=MONTH)
    await ledger.charge("c1", "ann", tokens(600))
    await ledger.grant("ann", 1000, window=DAY)
    await ledger.grant("ann", 700, window=MONTH)
    assert await ledger.figures("ann") == Figures(600, 0, 100)
    await ledger.call("delete_budget", account_id="ann", name="cap")
    assert await ledger.windows("ann") == []
    await ledger.grant("ann", 900, window=MONTH)
    assert await ledger.figures("ann") == Figures(600, 0, 300)


async def test_a_budget_of_a_plan_put_again_goes_on_for_every_account(ledger, clock):
    await ledger.put_plan("p", budget("cap", 1000, window=MONTH))
    for name in ("ann", "bob"):
        await ledger.put_account(name, plan_id="p")
        await ledger.charge(f"c-{name}", name, tokens(400))
    await ledger.put_plan("p", budget("other", 5, unit="calls"))
    await ledger.put_plan("p", budget("cap", 500, window=MONTH))
    for name in ("ann", "bob"):
        assert await ledger.figures(name) == Figures(400, 0, 100)


async def test_the_retirement_and_the_return_are_both_in_the_log(ledger, clock):
    await ledger.grant("ann", 1000, window=MONTH)
    await ledger.call("delete_budget", account_id="ann", name="cap")
    await ledger.grant("ann", 900, window=MONTH)
    rows = await ledger.connection.fetch(
        "select before ->> 'limit_amount', after ->> 'limit_amount' from preauth.change_log"
        " where subject = 'budget' order by change_id"
    )
    assert [tuple(row) for row in rows] == [(None, "1000"), ("1000", None), (None, "900")]
