"""What a window can count to: nothing overflows, and no neighbour pays for an absurd amount."""

import pytest

from tests.support.checks import assert_denied, assert_problem
from tests.support.money import MAX_AMOUNT, tokens


@pytest.mark.parametrize(
    ("limit", "more"), [(None, {}), (10, {"enforcement": "observe"})], ids=["unlimited", "observed"]
)
async def test_a_window_without_a_bound_counts_to_the_largest_exact_number_and_then_denies(
    ledger, clock, limit, more
):
    await ledger.grant("ann", limit, **more)
    assert (await ledger.reserve("r1", "ann", tokens(MAX_AMOUNT)))["decision"] == "authorized"
    assert_denied(await ledger.reserve("r2", "ann", tokens(1)), "budget_exhausted", required=1)


async def test_spend_that_has_happened_is_recorded_up_to_that_number(ledger, clock):
    await ledger.grant("ann", 10)
    reply = await ledger.charge("c1", "ann", tokens(MAX_AMOUNT), record=True)
    assert (reply["decision"], reply["recorded"]) == ("authorized", True)
    assert_denied(await ledger.charge("c2", "ann", tokens(1), record=True), "budget_exhausted")


async def test_overages_that_no_window_can_count_are_refused_and_neighbours_go_on(ledger, clock):
    await ledger.grant("ann", 1000)
    for n in range(500):
        await ledger.reserve(f"r{n}", "ann", tokens(1))
    items = [{"request_id": f"r{n}", "amounts": tokens(MAX_AMOUNT)} for n in range(500)]
    rows = [
        row for n in range(0, 500, 100) for row in await ledger.many("settle", items[n : n + 100])
    ]
    refused = [row for row in rows if row.status != 200]
    assert refused
    assert_problem(refused[0].body, 422, "amount_out_of_range")
    other = await ledger.reserve("next", "ann", tokens(1))
    assert_denied(other, "budget_exhausted")
