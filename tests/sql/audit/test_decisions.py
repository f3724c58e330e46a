"""Finding a decision by what one knows of it."""

from datetime import timedelta

import pytest

from tests.support.checks import assert_problem
from tests.support.clock import NOON
from tests.support.money import tokens


@pytest.fixture(autouse=True)
async def history(ledger, clock):
    """Six decisions of two accounts, a minute apart."""
    await ledger.grant("ann", 1000)
    await ledger.grant("bob", 100)
    for n, (account, amount, model) in enumerate(
        [
            ("ann", 400, "gpt"),
            ("bob", 50, "gpt"),
            ("ann", 700, "claude"),
            ("bob", 200, None),
            ("ann", 600, "claude"),
            ("bob", 50, "claude"),
        ]
    ):
        await ledger.reserve(
            f"r{n}", account, tokens(amount), **({"model": model} if model else {})
        )
        clock.advance(minutes=1)


async def ids(ledger, **asked):
    return [d["request_id"] for d in (await ledger.call("audit_decisions", **asked))["items"]]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, "543210"),
        ({"account_id": "ann"}, "420"),
        ({"request_id": "r3"}, "3"),
        ({"decision": "denied"}, "32"),
        ({"decision": "authorized", "account_id": "bob"}, "51"),
        ({"reason": "exceeds_limit"}, "3"),
        ({"reason": "budget_exhausted"}, "2"),
        ({"model": "claude"}, "542"),
        ({"since": NOON + timedelta(minutes=4)}, "54"),
        ({"until": NOON + timedelta(minutes=2)}, "10"),
        ({"since": NOON + timedelta(minutes=1), "until": NOON + timedelta(minutes=3), "account_id": "ann"}, "2"),
        ({"account_id": "nobody"}, ""),
    ],
)  # fmt: skip
async def test_decisions_are_found_by_whatever_is_known(ledger, asked, found):
    assert await ids(ledger, **asked) == [f"r{n}" for n in found]


@pytest.mark.parametrize("asked", [{}, {"account_id": "ann"}, {"decision": "denied"}])
async def test_pages_of_one_are_the_list(ledger, asked):
    whole, cursor, seen = await ids(ledger, **asked), None, []
    while True:
        page = await ledger.call("audit_decisions", max_count=1, cursor=cursor, **asked)
        seen += [d["request_id"] for d in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == whole


async def test_a_decision_says_what_was_asked_and_what_came_of_it(ledger):
    await ledger.settle("r0", tokens(30))
    found = await ledger.call("audit_decisions", request_id="r0")
    (decision,) = found["items"]
    assert decision["amounts"] == tokens(400)
    assert decision["settled"] == tokens(30)
    assert (decision["state"], decision["model"], decision["actor"]) == (
        "settled",
        "gpt",
        "postgres",
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [("decision", "maybe"), ("reason", "because"), ("max_count", 0), ("cursor", "x")],
)
async def test_a_question_that_makes_no_sense_is_refused(ledger, field, value):
    problem = await ledger.call("audit_decisions", **{field: value})
    assert_problem(problem, 400, "malformed")
    assert problem["errors"][0]["path"] == field
