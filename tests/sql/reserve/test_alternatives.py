"""Row 25: alternatives are tried in order; the first that fits is authorized."""

from tests.support.checks import assert_denied, assert_problem, assert_same
from tests.support.money import tokens


def option(amount, model=None):
    return {"amounts": tokens(amount), **({"model": model} if model else {})}


async def test_the_request_itself_wins_while_it_fits(ledger, clock):
    await ledger.grant("ann")
    reply = await ledger.reserve(
        "r1", "ann", tokens(900), model="opus", alternatives=[option(5, "haiku")]
    )
    assert (reply["chosen_alternative"], reply["model"]) == (None, "opus")


async def test_the_first_alternative_that_fits_is_authorized(ledger, clock):
    await ledger.grant("ann")
    options = [option(1500, "sonnet"), option(700, "haiku"), option(1, "nano")]
    reply = await ledger.reserve("r1", "ann", tokens(2000), model="opus", alternatives=options)
    assert (reply["decision"], reply["chosen_alternative"], reply["model"]) == (
        "authorized", 1, "haiku",
    )  # fmt: skip
    assert (await ledger.window("ann"))["reserved"] == 700


async def test_an_alternative_is_held_against_its_own_models_budget(ledger, clock):
    await ledger.grant("ann", 100, "opus", model="opus")
    await ledger.grant("ann", 800, "haiku", model="haiku")
    reply = await ledger.reserve(
        "r1", "ann", tokens(500), model="opus", alternatives=[option(500, "haiku")]
    )
    assert [(line["budget"], line["available"]) for line in reply["lines"]] == [("haiku", 300)]
    assert (await ledger.window("ann", "opus"))["reserved"] == 0


async def test_it_is_denied_only_if_none_fits(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r0", "ann", tokens(990))
    reply = await ledger.reserve(
        "r1", "ann", tokens(30), alternatives=[option(20, "sonnet"), option(11, "haiku")]
    )
    assert_denied(reply, "budget_exhausted", available=10)
    assert (await ledger.window("ann"))["reserved"] == 990


async def test_a_replay_names_the_same_alternative_when_the_request_itself_would_fit(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r0", "ann", tokens(900))
    first = await ledger.reserve("r1", "ann", tokens(500), alternatives=[option(100)])
    await ledger.release("r0")
    again = await ledger.reserve("r1", "ann", tokens(500), alternatives=[option(100)])
    assert_same(first, again)
    assert again["chosen_alternative"] == 0


async def test_eight_alternatives_are_taken_and_nine_are_not(ledger, clock):
    await ledger.grant("ann")
    eight = [option(2000)] * 7 + [option(7)]
    reply = await ledger.reserve("r1", "ann", tokens(2000), alternatives=eight)
    assert reply["chosen_alternative"] == 7
    nine = await ledger.reserve("r2", "ann", tokens(2000), alternatives=[*eight, option(1)])
    assert_problem(nine, 400, "malformed")


async def test_a_denial_names_what_the_request_itself_lacked(ledger, clock):
    await ledger.grant("ann", 100, "one", model="one")
    await ledger.grant("ann", 50, "two", model="two")
    denied = await ledger.reserve(
        "r1",
        "ann",
        tokens(101),
        model="one",
        alternatives=[{"model": "two", "amounts": tokens(51)}],
    )
    assert (denied["budget"], denied["required"], denied["limit"]) == ("one", 101, 100)
