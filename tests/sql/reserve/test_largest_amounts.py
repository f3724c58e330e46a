"""What a window can count to: nothing overflows, and no neighbour pays for an absurd amount."""

import pytest

from tests.support.checks import assert_denied, assert_problem
from tests.support.money import MAX_AMOUNT, tokens

MOST_COUNTED = 2 * 10**18


@pytest.fixture(params=["unlimited", "observed"])
async def open_window(request, ledger, clock):
    """An account whose only budget denies nothing."""
    if request.param == "unlimited":
        await ledger.grant("ann", None)
    else:
        await ledger.grant("ann", 10, enforcement="observe")
    return ledger


async def test_the_largest_amount_shuts_nobody_out_of_a_window_that_denies_nothing(open_window):
    for n in range(3):
        reply = await open_window.reserve(f"r{n}", "ann", tokens(MAX_AMOUNT))
        assert reply["decision"] == "authorized"
    assert (await open_window.charge("c", "ann", tokens(1), record=True))[
        "decision"
    ] == "authorized"


async def test_hundreds_of_largest_amounts_are_denied_in_the_end_and_nothing_overflows(open_window):
    items = [
        {"request_id": f"r{n}", "account_id": "ann", "amounts": tokens(MAX_AMOUNT)}
        for n in range(300)
    ]
    rows = await open_window.many("reserve", items)
    assert sum(row.status == 200 for row in rows) == MOST_COUNTED // MAX_AMOUNT
    assert_denied(rows[-1].body, "budget_exhausted", required=MAX_AMOUNT)


async def test_spend_that_has_happened_is_recorded_however_large(ledger, clock):
    await ledger.grant("ann", 10)
    for n in range(3):
        reply = await ledger.charge(f"c{n}", "ann", tokens(MAX_AMOUNT), record=True)
        assert (reply["decision"], reply["recorded"]) == ("authorized", True)


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
    assert_denied(await ledger.reserve("next", "ann", tokens(1)), "budget_exhausted")


async def settled_beyond_their_holds(ledger, amounts, together, is_late=False):
    """The statuses of settlements of amounts, (account, amount) each, so many in a batch.

    Where the first of each is late, the batch is not settled at once."""
    asked = [(f"r{n}", account, amount) for n, (account, amount) in enumerate(amounts)]
    statuses = []
    for start in range(0, len(asked), together):
        part = asked[start : start + together]
        await ledger.many(
            "reserve",
            [{"request_id": r, "account_id": a, "amounts": tokens(1)} for r, a, _ in part],
        )
        if is_late:
            await ledger.release(part[0][0])
        rows = await ledger.many(
            "settle", [{"request_id": r, "amounts": tokens(m)} for r, _, m in part]
        )
        statuses += [row.status for row in rows]
    return statuses


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("together", [1, 50, 300])
async def test_a_window_counts_to_its_bound_however_many_are_settled_together(
    ledger, together, is_late
):
    """222 of the largest amount; then what is small still fits, and what is not is refused."""
    await ledger.grant("ann", None)
    amounts = [("ann", MAX_AMOUNT)] * 230 + [("ann", 7)] * 5 + [("ann", MAX_AMOUNT)] * 2
    statuses = await settled_beyond_their_holds(ledger, amounts, together, is_late)
    assert statuses == [200] * 222 + [422] * 8 + [200] * 5 + [422] * 2
    assert (await ledger.figures("ann")).settled == 222 * MAX_AMOUNT + 35


@pytest.mark.parametrize("is_late", [False, True])
async def test_what_is_settled_on_other_windows_takes_nothing_from_what_a_window_counts_to(
    ledger, is_late
):
    for name in ("ann", "bob"):
        await ledger.grant(name, None)
    statuses = await settled_beyond_their_holds(
        ledger, [(("ann", "bob")[n % 2], MAX_AMOUNT) for n in range(300)], 300, is_late
    )
    assert statuses == [200] * 300
