"""Rerating: what a wrong price cost is put right by adjustments, once."""

from datetime import datetime

import pytest

from tests.support.checks import assert_problem
from tests.support.money import DOLLAR, MONTH, usd
from tests.support.prices import ask, publish, rate, rates, spend
from tests.support.session import Figures

WRONG = {"input_tokens": rate("5", 1), "output_tokens": rate("25", 1)}
"""Entered per token that was per million."""
RIGHT = rates(input_tokens="5", output_tokens="25")
USAGE = {"input_tokens": 2, "output_tokens": 1}
BEFORE = 35 * DOLLAR
AFTER = 35_000
DIFFERENCE = AFTER - BEFORE
SEPTEMBER = {"since": "2026-09-01T00:00:00Z", "until": "2026-10-01T00:00:00Z"}


async def rerate(ledger, tables, confirm=False, **more):
    times = {name: datetime.fromisoformat(text) for name, text in SEPTEMBER.items()}
    wrong, right = tables
    return await ledger.call(
        "rerate",
        **{"wrong_table": wrong, "right_table": right, "confirm": confirm, **times, **more},
    )


@pytest.fixture
async def tables(ledger, clock):
    """ann (below org) spends twice and bob once by a wrong price; then the right one comes."""
    await ledger.grant("org", 1000 * DOLLAR, unit="usd_nano", window=MONTH)
    for account in ("ann", "bob"):
        await ledger.put_account(account, parent_id="org")
        await ledger.grant(account, 100 * DOLLAR, unit="usd_nano", window=MONTH)
    wrong = await publish(ledger, rates=WRONG)
    await ask(ledger, "a1", "ann", {"input_tokens": 2, "output_tokens": 1})
    await ledger.settle("a1", usage=USAGE)
    await spend(ledger, "a2", "ann", USAGE)
    await spend(ledger, "b1", "bob", USAGE)
    clock.advance(seconds=1)
    right = await publish(ledger, rates=RIGHT)
    return wrong["price_table_id"], right["price_table_id"]


async def test_it_shows_the_difference_by_account_and_writes_nothing(ledger, tables):
    before = await ledger.contents()
    reply = await rerate(ledger, tables)
    assert reply["accounts"] == [
        {"account_id": "ann", "events": 2, "before": 2 * BEFORE, "after": 2 * AFTER, "difference": 2 * DIFFERENCE},
        {"account_id": "bob", "events": 1, "before": BEFORE, "after": AFTER, "difference": DIFFERENCE},
    ]  # fmt: skip
    assert (reply["events"], reply["difference"], reply["confirmed"]) == (3, 3 * DIFFERENCE, False)
    assert (reply["unit"], reply["since"]) == ("usd_nano", "2026-09-01T00:00:00.000000Z")
    assert await ledger.contents() == before


async def test_confirmed_it_puts_every_window_right_by_an_adjustment(ledger, tables):
    settled = await ledger.contents("hold_line")
    await rerate(ledger, tables, confirm=True, reason="a slip", actor="key_carla")
    assert await ledger.figures("ann") == Figures(2 * AFTER, 0, 100 * DOLLAR - 2 * AFTER)
    assert await ledger.figures("bob") == Figures(AFTER, 0, 100 * DOLLAR - AFTER)
    assert (await ledger.window("org"))["settled"] == 3 * AFTER
    assert await ledger.contents("hold_line") == settled
    events = await ledger.connection.fetch(
        "select * from preauth.usage_event where kind = 'adjustment'"
    )
    assert sorted(e["amounts"]["usd_nano"] for e in events) == [3 * DIFFERENCE, 2 * DIFFERENCE, DIFFERENCE]  # fmt: skip
    assert {(e["actor"], e["reason"]) for e in events} == {("key_carla", "a slip")}


async def test_the_timeline_of_a_spend_tells_it(ledger, tables):
    await rerate(ledger, tables, confirm=True)
    timeline = (await ledger.reservation("a1"))["timeline"]
    (rerated,) = [event for event in timeline if event["event"] == "rerated"]
    assert rerated["detail"] == {
        "unit": "usd_nano", "wrong_table": tables[0], "right_table": tables[1],
        "before": BEFORE, "after": AFTER, "difference": DIFFERENCE,
    }  # fmt: skip


async def test_the_same_again_finds_nothing_to_do(ledger, tables):
    first = await rerate(ledger, tables, confirm=True)
    before = await ledger.contents()
    again = await rerate(ledger, tables, confirm=True)
    assert (first["events"], again["events"], again["accounts"]) == (3, 0, [])
    assert await ledger.contents() == before


async def test_of_several_at_once_one_moves_the_money(ledger, tables):
    replies = await ledger.race([lambda s: rerate(s, tables, confirm=True)] * 6)
    assert sorted(r["events"] for r in replies) == [0, 0, 0, 0, 0, 3]
    assert (await ledger.window("org"))["settled"] == 3 * AFTER


async def test_a_longer_range_later_takes_only_what_was_left(ledger, clock, tables):
    await rerate(ledger, tables, confirm=True, until=datetime.fromisoformat("2026-09-14T12:00:00Z"))
    assert (await ledger.window("ann"))["settled"] == 2 * BEFORE
    reply = await rerate(ledger, tables, confirm=True)
    assert reply["events"] == 3
    assert (await ledger.window("ann"))["settled"] == 2 * AFTER


async def test_a_rerating_can_be_rerated_and_undone(ledger, clock, tables):
    wrong, right = tables
    clock.advance(seconds=1)
    third = (await publish(ledger, rates=rates(input_tokens="1", output_tokens="1")))["price_table_id"]  # fmt: skip
    await rerate(ledger, (wrong, right), confirm=True)
    await rerate(ledger, (right, third), confirm=True)
    assert (await ledger.window("bob"))["settled"] == 3000
    assert (await rerate(ledger, (wrong, right), confirm=True))["events"] == 0
    await rerate(ledger, (third, wrong), confirm=True)
    assert (await ledger.window("bob"))["settled"] == BEFORE


async def test_a_window_that_was_reset_since_gets_the_difference_as_a_credit(ledger, clock, tables):
    await ledger.call("reset", account_id="bob", body={"budget": "cap", "reason": "amends"})
    reply = await rerate(ledger, tables, confirm=True)
    [bob] = [a for a in reply["accounts"] if a["account_id"] == "bob"]
    assert bob["difference"] < 0
    assert (await ledger.window("bob"))["settled"] == bob["difference"]


async def test_spend_that_told_its_amounts_is_left_alone(ledger, clock, tables):
    await ledger.charge("told", "bob", usd(5))
    assert (await rerate(ledger, tables))["events"] == 3


async def test_a_hold_charged_when_its_time_passed_is_rerated_as_a_ceiling(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano", on_expiry="charge")
    wrong = await publish(ledger, rates=rates(output_tokens="2"))
    await ask(ledger, "r1", "ann", {"completion_tokens": 100})
    clock.advance(hours=1)
    await ledger.expire()
    right = await publish(ledger, rates=rates(output_tokens="1"))
    tables = wrong["price_table_id"], right["price_table_id"]
    reply = await rerate(ledger, tables, confirm=True)
    assert (reply["before"], reply["after"]) == (200_000, 100_000)
    assert (await ledger.window("ann"))["settled"] == 100_000


async def test_a_right_table_that_lacks_a_dimension_is_refused(ledger, clock, tables):
    other = (await publish(ledger, "other", rates=rates(input_tokens="1")))["price_table_id"]
    before = await ledger.contents()
    reply = await rerate(ledger, (tables[0], other), confirm=True)
    assert_problem(reply, 422, "dimension_unpriced")
    assert reply["dimension"] == "output_tokens"
    assert await ledger.contents() == before


async def test_a_right_table_that_requires_what_a_hold_did_not_bound_is_refused(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano", on_expiry="charge")
    wrong = await publish(ledger, rates=rates(output_tokens="2"))
    await ask(ledger, "r1", "ann", {"output_tokens": 100})
    clock.advance(hours=1)
    await ledger.expire()
    right = await publish(ledger, rates=rates(input_tokens="1", output_tokens="1"))
    reply = await rerate(ledger, (wrong["price_table_id"], right["price_table_id"]), confirm=True)
    assert_problem(reply, 422, "dimension_unbounded")
    assert reply["dimension"] == "input_tokens"


@pytest.mark.parametrize("confirm", [False, True])
async def test_a_right_price_of_more_than_an_amount_can_be_is_refused(
    ledger, clock, tables, confirm
):
    huge = {"micro_usd": 2**53 - 1, "per": 1}
    other = await publish(ledger, "other", rates={"input_tokens": huge, "output_tokens": huge})
    before = await ledger.contents()
    reply = await rerate(ledger, (tables[0], other["price_table_id"]), confirm)
    assert_problem(reply, 422, "amount_out_of_range")
    assert (reply["price_table_id"], reply["unit"]) == (other["price_table_id"], "usd_nano")
    assert await ledger.contents() == before


@pytest.mark.parametrize("confirm", [False, True])
async def test_a_window_moves_by_no_more_than_an_amount_can_be(ledger, clock, tables, confirm):
    huge = {"micro_usd": (2**53 - 1) // 2000, "per": 1}
    free = {"micro_usd": 0, "per": 1}
    other = await publish(ledger, "other", rates={"input_tokens": huge, "output_tokens": free})
    pair = tables[0], other["price_table_id"]
    before = await ledger.contents()
    assert_problem(await rerate(ledger, pair, confirm), 422, "amount_out_of_range")
    assert await ledger.contents() == before


async def test_a_window_that_would_count_too_far_is_not_rerated(ledger, clock):
    await ledger.grant("ann", None, unit="usd_nano", enforcement="observe")
    wrong = await publish(ledger, rates=rates(input_tokens="1"))
    most = {"micro_usd": (2**53 - 1) // 1000, "per": 1}
    right = await publish(ledger, "other", rates={"input_tokens": most})
    much = {"account_id": "ann", "amounts": {"usd_nano": 2**53 - 1}}
    rows = await ledger.many("charge", [{"request_id": f"much{n}", **much} for n in range(222)])
    assert {row.status for row in rows} == {200}
    await spend(ledger, "a1", "ann", {"input_tokens": 1})
    pair = wrong["price_table_id"], right["price_table_id"]
    before = await ledger.contents()
    assert_problem(await rerate(ledger, pair, confirm=True), 422, "amount_out_of_range")
    assert await ledger.contents() == before


async def test_tables_must_be_known_and_have_rates(ledger, clock, tables):
    await publish(ledger, rates=RIGHT, aliases=["chat"])
    (alias,) = await ledger.call("price_tables", model="chat")
    for pair in ((tables[0], 999), (999, tables[1]), (tables[0], alias["price_table_id"])):
        assert_problem(await rerate(ledger, pair), 404, "price_table_unknown")


async def test_malformed_reratings_are_named(ledger, clock, tables):
    credits_ = await publish(ledger, unit="credits", rates={"requests": {"amount": 1, "per": 1}})
    cases = [
        ({"right_table": tables[0]}, "right_table"),
        ({"right_table": credits_["price_table_id"]}, "right_table"),
        ({"wrong_table": None}, "wrong_table"),
        ({"since": None}, "since"),
        ({"until": clock.set("2026-08-01T00:00:00Z")}, "until"),
        ({"reason": "a\tb"}, "reason"),
    ]
    for change, path in cases:
        reply = await rerate(ledger, tables, **change)
        assert_problem(reply, 400, "malformed")
        assert [error["path"] for error in reply["errors"]] == [path]
