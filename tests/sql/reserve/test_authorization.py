"""An authorization says what it holds, where, and until when."""

from datetime import timedelta

from tests.support.checks import at
from tests.support.money import CENT, MONTH, budget, tokens, usd

MEMBERS = {
    "request_id", "account_id", "decision", "state", "model", "chosen_alternative",
    "price_table_id", "lines", "expires_at", "over_limit", "replayed",
}  # fmt: skip


async def test_an_authorization_has_exactly_the_members_of_the_contract(ledger, clock):
    await ledger.grant("ann")
    reply = await ledger.reserve("r1", "ann", tokens(400))
    assert set(reply) == MEMBERS
    assert reply["request_id"] == "r1"
    assert reply["account_id"] == "ann"
    assert reply["decision"] == reply["state"] == "authorized"
    assert reply["model"] is reply["chosen_alternative"] is reply["price_table_id"] is None
    assert reply["replayed"] is False
    assert not reply["over_limit"]


async def test_a_line_names_budget_scope_unit_window_amount_and_what_is_left(ledger, clock):
    await ledger.grant("ann", window=MONTH)
    reply = await ledger.reserve("r1", "ann", tokens(400))
    assert reply["lines"] == [
        {
            "budget": "cap",
            "scope": "ann",
            "unit": "tokens",
            "window": "2026-09",
            "amount": 400,
            "available": 600,
        }
    ]


async def test_the_hold_is_reserved_and_nothing_is_settled(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    window = await ledger.window("ann")
    assert (window["settled"], window["reserved"], window["available"]) == (0, 400, 600)


async def test_a_hold_of_the_whole_limit_fits(ledger, clock):
    await ledger.grant("ann")
    reply = await ledger.reserve("r1", "ann", tokens(1000))
    assert reply["lines"][0]["available"] == 0


async def test_a_hold_expires_after_120_seconds_unless_told_otherwise(ledger, clock):
    await ledger.grant("ann")
    default = await ledger.reserve("r1", "ann", tokens(1))
    short = await ledger.reserve("r2", "ann", tokens(1), ttl_seconds=1)
    day = await ledger.reserve("r3", "ann", tokens(1), ttl_seconds=86400)
    lengths = [at(r["expires_at"]) - clock.now for r in (default, short, day)]
    assert lengths == [timedelta(seconds=s) for s in (120, 1, 86400)]


async def test_the_model_is_repeated_in_the_reply(ledger, clock):
    await ledger.grant("ann")
    reply = await ledger.reserve("r1", "ann", tokens(1), model="claude-opus")
    assert reply["model"] == "claude-opus"


async def test_the_request_id_belongs_to_the_account(ledger, clock):
    await ledger.grant("ann")
    await ledger.grant("bob")
    ann = await ledger.reserve("r1", "ann", tokens(400))
    bob = await ledger.reserve("r1", "bob", tokens(500))
    assert ann["replayed"] is bob["replayed"] is False
    assert (await ledger.window("ann"))["reserved"] == 400
    assert (await ledger.window("bob"))["reserved"] == 500


async def test_a_budget_in_each_unit_gets_a_line(ledger, clock):
    await ledger.grant("ann", name="money", unit="usd_nano", limit=50 * CENT)
    await ledger.grant("ann", name="words")
    reply = await ledger.reserve("r1", "ann", {**usd(CENT), **tokens(10)})
    held = {line["unit"]: line["amount"] for line in reply["lines"]}
    assert held == {"usd_nano": CENT, "tokens": 10}


async def test_a_unit_that_no_budget_meters_is_no_line(ledger, clock):
    await ledger.grant("ann")
    reply = await ledger.reserve("r1", "ann", {**usd(CENT), **tokens(10)})
    assert [line["unit"] for line in reply["lines"]] == ["tokens"]


async def test_two_budgets_of_one_unit_both_hold(ledger, clock):
    await ledger.grant("ann", name="month", window=MONTH)
    await ledger.grant("ann", name="ever", limit=9000)
    await ledger.reserve("r1", "ann", tokens(400))
    assert (await ledger.window("ann", "month"))["reserved"] == 400
    assert (await ledger.window("ann", "ever"))["reserved"] == 400


async def test_every_reservation_counts_one_request(ledger, clock):
    await ledger.grant("ann", name="rate", unit="requests", limit=2)
    reply = await ledger.reserve("r1", "ann", tokens(10))
    assert [(ln["unit"], ln["amount"], ln["available"]) for ln in reply["lines"]] == [
        ("requests", 1, 1)
    ]


async def test_lines_come_leaf_first_and_model_budgets_before_budgets_for_all(ledger, clock):
    await ledger.grant("org", 9000, "all")
    await ledger.put_account("team", parent_id="org")
    await ledger.grant("team", 9000, "all")
    await ledger.grant("team", 9000, "opus", model="opus")
    await ledger.put_account("ann", parent_id="team")
    await ledger.grant("ann", 9000, "all")
    await ledger.grant("ann", 9000, "opus", model="opus")
    reply = await ledger.reserve("r1", "ann", tokens(1), model="opus")
    assert [(line["scope"], line["budget"]) for line in reply["lines"]] == [
        ("ann", "opus"), ("ann", "all"), ("team", "opus"), ("team", "all"), ("org", "all"),
    ]  # fmt: skip


async def test_ids_of_128_characters_of_the_whole_alphabet_are_taken(ledger, clock):
    account = ("Az09_.:@/-" * 13)[:128]
    await ledger.grant(account)
    reply = await ledger.reserve(account, account, tokens(1))
    assert reply["request_id"] == reply["account_id"] == account


async def test_the_largest_amount_is_held_exactly(ledger, clock):
    await ledger.grant("ann", 2**53 - 1)
    await ledger.reserve("r1", "ann", tokens(2**53 - 2))
    window = await ledger.window("ann")
    assert (window["reserved"], window["available"]) == (2**53 - 2, 1)


async def test_an_own_budget_replaces_the_plans_budget_of_the_same_name(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100), budget("other", 5000))
    await ledger.put_account("ann", plan_id="free")
    await ledger.grant("ann", 2000)
    reply = await ledger.reserve("r1", "ann", tokens(1500))
    assert {(ln["budget"], ln["available"]) for ln in reply["lines"]} == {
        ("cap", 500),
        ("other", 3500),
    }


async def test_accounts_on_one_plan_have_windows_of_their_own(ledger, clock):
    await ledger.put_plan("free", budget("cap", 100))
    await ledger.put_account("ann", plan_id="free")
    await ledger.put_account("bob", plan_id="free")
    await ledger.reserve("r1", "ann", tokens(80))
    reply = await ledger.reserve("r2", "bob", tokens(80))
    assert reply["lines"][0]["available"] == 20
