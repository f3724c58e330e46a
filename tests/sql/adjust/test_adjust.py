"""Corrections of what a window counts as spent: each once, each with its reason, nothing rewritten."""

import pytest

from tests.support.checks import assert_denied, assert_problem, assert_same
from tests.support.money import MAX_AMOUNT, MONTH, budget, tokens, usd
from tests.support.session import Figures


async def adjust(ledger, amount, key="fix-1", account_id="ann", actor=None, **more):
    body = {"budget": "cap", "amount": amount, "reason": "checked", "idempotency_key": key, **more}
    return await ledger.call("adjust", account_id=account_id, body=body, actor=actor)


@pytest.fixture
async def spent(ledger, clock):
    """ann has spent 600 of her 1000 tokens this month and holds 100."""
    await ledger.grant("ann", 1000, window=MONTH)
    await ledger.charge("c1", "ann", tokens(600))
    await ledger.reserve("r1", "ann", tokens(100))
    return ledger


async def test_it_moves_what_is_settled_and_says_how_the_window_stands(spent):
    reply = await adjust(spent, -250)
    assert (reply["amount"], reply["settled"], reply["reserved"]) == (-250, 350, 100)
    assert (reply["limit"], reply["available"], reply["window"]) == (1000, 550, "2026-09")
    assert (reply["budget"], reply["unit"], reply["idempotency_key"]) == ("cap", "tokens", "fix-1")
    assert await spent.figures("ann") == Figures(350, 100, 550)


async def test_sent_again_it_moves_nothing_and_answers_the_same(spent):
    first = await adjust(spent, -250)
    await spent.charge("c2", "ann", tokens(5))
    assert_same(first, await adjust(spent, -250))
    assert await spent.figures("ann") == Figures(355, 100, 545)


@pytest.mark.parametrize("other", [{"amount": -251}, {"reason": "other"}, {"window": "2026-09"}])
async def test_another_one_under_the_same_key_is_a_conflict(spent, other):
    await adjust(spent, -250)
    moved = await spent.movements()
    reply = await adjust(spent, **{"amount": -250, **other})
    assert_problem(reply, 409, "request_id_conflict")
    assert await spent.movements() == moved


async def test_a_key_is_an_accounts_own(spent):
    await spent.grant("bob", 1000)
    await adjust(spent, -250)
    assert (await adjust(spent, 40, account_id="bob"))["settled"] == 40


async def test_a_key_may_be_the_request_id_of_a_reservation(spent):
    await adjust(spent, -250, key="c1")
    assert (await spent.reservation("c1"))["settlement"] == {"amounts": {"tokens": 600}}


async def test_what_is_added_can_use_a_window_up(spent):
    await adjust(spent, 300)
    assert_denied(await spent.reserve("r2", "ann", tokens(1)), "budget_exhausted", available=0)


async def test_more_than_was_spent_may_be_given_back(spent):
    assert (await adjust(spent, -1000))["settled"] == -400
    assert (await spent.window("ann"))["available"] == 1300
    assert (await spent.reserve("r2", "ann", tokens(1300)))["decision"] == "authorized"


async def test_a_budget_of_the_plan_is_adjusted_for_this_account_only(ledger, clock):
    await ledger.put_plan("free", budget("cap", 1000, window=MONTH))
    for name in ("ann", "bob"):
        await ledger.put_account(name, plan_id="free")
        await ledger.charge(f"c-{name}", name, tokens(10))
    await adjust(ledger, 5)
    assert (await ledger.figures("ann")).settled == 15
    assert (await ledger.figures("bob")).settled == 10


async def test_a_window_in_which_nothing_was_spent_is_made(ledger, clock):
    await ledger.grant("ann", 1000, window=MONTH)
    assert (await adjust(ledger, 70))["available"] == 930
    await ledger.charge("c1", "ann", tokens(30))
    assert await ledger.figures("ann") == Figures(100, 0, 900)


async def test_a_window_of_the_past_is_corrected_by_its_key(spent, clock):
    clock.set("2026-10-05T00:00:00Z")
    await spent.charge("c2", "ann", tokens(10))
    reply = await adjust(spent, -600, window="2026-09")
    assert (reply["window"], reply["settled"]) == ("2026-09", 0)
    assert (await spent.figures("ann")).settled == 10


async def test_a_key_that_windows_of_several_budgets_have_means_the_one_that_applies(ledger, clock):
    """Of a plan that ann has left there is a younger window of that name and month."""
    await ledger.put_plan("a", budget("cap", 1000, window=MONTH))
    await ledger.put_plan("b", budget("cap", 1000, window=MONTH, unit="usd_nano"))
    for plan_id, amounts in (("a", tokens(600)), ("b", usd(40))):
        await ledger.put_account("ann", plan_id=plan_id)
        await ledger.charge(f"c-{plan_id}", "ann", amounts)
    await ledger.put_account("ann", plan_id="a")
    reply = await adjust(ledger, -100, window="2026-09")
    assert (reply["unit"], reply["settled"]) == ("tokens", 500)


async def test_the_event_and_the_log_say_who_when_what_and_why(spent, clock):
    await adjust(spent, -250, actor="key_carla")
    event = await spent.connection.fetchrow(
        "select * from preauth.usage_event where kind = 'adjustment'"
    )
    assert (event["request_id"], event["amounts"]) == ("fix-1", {"tokens": -250})
    assert (event["actor"], event["reason"], event["occurred_at"]) == (
        "key_carla", "checked", clock.now,
    )  # fmt: skip
    change = await spent.connection.fetchrow(
        "select * from preauth.change_log where subject = 'window'"
    )
    assert (change["actor"], change["reason"]) == ("key_carla", "checked")
    assert change["subject_id"] == "ann/cap/2026-09"
    assert (change["before"]["settled"], change["after"]["settled"]) == (600, 350)
    assert change["changed_at"] == clock.now


async def test_fifty_at_once_under_one_key_move_once(spent):
    replies = await spent.race([lambda s: adjust(s, -250)] * 50, connections=10)
    assert [r["replayed"] for r in replies].count(False) == 1
    assert (await spent.figures("ann")).settled == 350


async def test_what_a_window_cannot_count_to_is_refused(ledger, clock):
    await ledger.grant("ann", None)
    for sign in (1, -1):
        await adjust(ledger, sign * MAX_AMOUNT, key=f"most{sign}")
        before = await ledger.contents()
        reply = await adjust(ledger, sign, key=f"more{sign}")
        assert_problem(reply, 422, "amount_out_of_range")
        assert await ledger.contents() == before
        await adjust(ledger, -sign * MAX_AMOUNT, key=f"back{sign}")


async def test_what_was_spent_beyond_that_is_corrected_towards_it(ledger):
    await ledger.grant("ann", None)
    for n in range(3):
        await ledger.charge(f"c{n}", "ann", tokens(MAX_AMOUNT))
    assert_problem(await adjust(ledger, 1, key="up"), 422, "amount_out_of_range")
    assert (await adjust(ledger, -MAX_AMOUNT, key="down"))["settled"] == 2 * MAX_AMOUNT


async def test_what_is_not_there_is_a_404_and_writes_nothing(spent):
    await spent.put_account("ann", max_open_holds=5)
    await spent.reserve("r9", "ann", tokens(1))
    before = await spent.contents()
    assert_problem(await adjust(spent, 1, account_id="nobody"), 404, "account_unknown")
    assert_problem(await adjust(spent, 1, budget="other"), 404, "budget_unknown")
    assert_problem(await adjust(spent, 1, budget="max_open_holds"), 404, "budget_unknown")
    assert_problem(await adjust(spent, 1, window="2026-08"), 404, "window_unknown")
    assert await spent.contents() == before


BAD = {
    "amount": [{"amount": 0}, {"amount": "7"}, {"amount": 7.0}, {"amount": True}, {"amount": 2**53},
               {"amount": -(2**53)}, {"amount": None}],
    "budget": [{"budget": None}, {"budget": 7}, {"budget": "Cap"}],
    "reason": [{"reason": None}, {"reason": ""}, {"reason": "a\nb"}],
    "idempotency_key": [{"idempotency_key": None}, {"idempotency_key": "a b"}],
    "window": [{"window": 7}, {"window": ""}],
    "unit": [{"unit": "tokens"}],
}  # fmt: skip


@pytest.mark.parametrize(("field", "more"), [(f, m) for f, cases in BAD.items() for m in cases])
async def test_a_malformed_adjustment_names_the_field_and_changes_nothing(spent, field, more):
    before = await spent.contents()
    reply = await adjust(spent, **{"amount": 1, **more})
    assert_problem(reply, 400, "malformed")
    assert [e["path"] for e in reply["errors"]] == [field]
    assert await spent.contents() == before


async def test_a_window_of_a_plans_budget_by_its_key_is_this_accounts_own(ledger, clock):
    await ledger.put_plan("p", budget("cap", 1000, window=MONTH))
    for account_id in ("ann", "bob"):
        await ledger.put_account(account_id, plan_id="p")
        await ledger.charge("c1", account_id, tokens(100))
    assert (await adjust(ledger, -40, window="2026-09"))["settled"] == 60
    assert await ledger.figures("ann") == Figures(60, 0, 940)
    assert await ledger.figures("bob") == Figures(100, 0, 900)
