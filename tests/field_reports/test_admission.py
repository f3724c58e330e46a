"""Field reports A: what other budget systems admitted, or refused, and should not have."""

from tests.support.checks import assert_denied, assert_problem, authorized, denied
from tests.support.money import CENT, DOLLAR, HOUR, MONTH, budget, tokens, usd
from tests.support.races import fifty_for_the_room_of_two, real_reserve
from tests.support.session import Figures


async def test_a1_of_50_parallel_reserves_of_400_in_1000_two_are_authorized(ledger):
    """A1: L=1000 tokens; 50 parallel reserve(400), each authorized one settles 400."""
    await ledger.grant("ann")
    assert await fifty_for_the_room_of_two(ledger, real_reserve) == 2
    rows = await ledger.connection.fetch(
        "select request_id from preauth.reservation where state = 'authorized'"
    )
    for row in rows:
        await ledger.settle(row["request_id"], tokens(400))
    assert await ledger.figures("ann") == Figures(800, 0, 200)
    assert await ledger.count("reservation", "state = 'denied'") == 48


async def test_a2_two_parallel_dimes_for_fifteen_cents_are_one_authorization(ledger):
    """A2: L=$0.50, S=$0.35; two parallel reserve($0.10); the authorized one settles $0.06."""
    await ledger.grant("ann", 50 * CENT, unit="usd_nano", window=MONTH)
    await ledger.charge("before", "ann", usd(35 * CENT))
    replies = await ledger.race(
        [lambda s, n=n: s.reserve(f"r{n}", "ann", usd(10 * CENT)) for n in range(2)]
    )
    (winner,), (loser,) = authorized(replies), denied(replies)
    assert winner["lines"][0]["available"] == 5 * CENT
    assert_denied(loser, "budget_exhausted", available=5 * CENT, required=10 * CENT)
    await ledger.settle(winner["request_id"], usd(6 * CENT))
    assert await ledger.figures("ann") == Figures(41 * CENT, 0, 9 * CENT)


async def test_a4_eight_parallel_first_requests_of_an_unseen_account_are_eight_denials(ledger):
    """A4: default plan L=1 nano-USD, account never seen; 8 parallel reserve(2 nano)."""
    await ledger.put_plan("tiny", budget("cap", 1, "usd_nano", MONTH))

    async def first(session, n):
        await session.connection.execute("set preauth.default_plan = 'tiny'")
        return await session.reserve(f"r{n}", "new", usd(2))

    replies = await ledger.race([lambda s, n=n: first(s, n) for n in range(8)])
    assert len(denied(replies)) == 8
    assert await ledger.count("account") == 1
    assert await ledger.count("budget_window") == 1


async def test_a5_the_sixth_of_six_reserves_of_a_fifth_is_denied(ledger):
    """A5: L=5000; six reserve(1000); all settle."""
    await ledger.grant("ann", 5000)
    replies = [await ledger.reserve(f"r{n}", "ann", tokens(1000)) for n in range(6)]
    assert (len(authorized(replies)), denied(replies)) == (5, [replies[5]])
    for n in range(5):
        await ledger.settle(f"r{n}", tokens(1000))
    assert await ledger.figures("ann") == Figures(5000, 0, 0)


async def test_a9_what_exceeds_the_limit_is_denied_before_anything_starts(ledger):
    """A9 (with amounts): L=1000 tokens; reserve(1200)."""
    await ledger.grant("ann")
    assert_denied(await ledger.reserve("r1", "ann", tokens(1200)), "exceeds_limit", limit=1000)
    assert await ledger.figures("ann") == Figures(0, 0, 1000)


async def test_a12_the_rest_of_five_large_holds_is_available_to_the_nano(ledger):
    """A12: L=$25, six callers, $5 each, real cost $0.02; reserve all, settle five."""
    await ledger.grant("ann", 25 * DOLLAR, unit="usd_nano", window=MONTH)
    replies = [await ledger.reserve(f"r{n}", "ann", usd(5 * DOLLAR)) for n in range(6)]
    assert len(authorized(replies)) == 5
    assert_denied(replies[5], "budget_exhausted", available=0)
    for n in range(5):
        await ledger.settle(f"r{n}", usd(2 * CENT))
    assert (await ledger.window("ann"))["available"] == 24_900_000_000


async def test_a16_a_full_rate_budget_denies_and_the_money_is_untouched(ledger):
    """A16: USD budget has room, requests budget is full."""
    await ledger.grant("ann", 50 * CENT, "money", unit="usd_nano", window=MONTH)
    await ledger.grant("ann", 2, "rate", unit="requests", window=HOUR)
    for n in range(2):
        await ledger.reserve(f"r{n}", "ann", usd(CENT))
    reply = await ledger.reserve("r2", "ann", usd(CENT))
    assert_denied(reply, "budget_exhausted", budget="rate", unit="requests")
    assert (await ledger.window("ann", "money"))["reserved"] == 2 * CENT


async def test_a17_an_unknown_field_is_refused_by_name(ledger):
    """A17: a body with an unknown field."""
    await ledger.grant("ann")
    row = await ledger.one(
        "reserve", request_id="r1", account_id="ann", amounts=tokens(1), max_token=5
    )
    assert_problem(row.body, 400, "malformed")
    assert [e["path"] for e in row.body["errors"]] == ["max_token"]


async def test_a18_a_limit_of_zero_denies_and_no_limit_authorizes(ledger):
    """A18: L=0; reserve(1); with limit_amount: null."""
    await ledger.grant("ann", 0)
    assert (await ledger.reserve("r1", "ann", tokens(1)))["decision"] == "denied"
    await ledger.grant("bob", None)
    assert (await ledger.reserve("r1", "bob", tokens(1)))["decision"] == "authorized"


async def test_a19_without_any_budget_nothing_is_authorized(ledger):
    """A19: account with no budget at all."""
    await ledger.put_account("ann")
    assert_denied(await ledger.reserve("r1", "ann", tokens(1)), "no_budget")
