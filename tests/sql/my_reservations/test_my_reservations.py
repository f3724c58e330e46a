"""What a signed-in user sees of what their account has asked for."""

import pytest

from tests.support.checks import assert_problem
from tests.support.money import tokens
from tests.support.signed_in import signed_in


@pytest.fixture(autouse=True)
async def accounts(ledger):
    for name in ("ann", "bob"):
        await ledger.grant(name, 1000)


@pytest.fixture
async def user(ledger):
    return await signed_in(ledger, {"sub": "ann"})


async def ids(user, **page):
    return [r["request_id"] for r in (await user.call("my_reservations", **page))["items"]]


async def test_they_are_the_accounts_own_the_newest_first(ledger, user):
    await ledger.reserve("r1", "ann", tokens(100), labels={"team": "x"})
    await ledger.reserve("other", "bob", tokens(100))
    await ledger.settle("r1", tokens(40))
    await ledger.reserve("r2", "ann", tokens(2000))

    denied, settled = (await user.call("my_reservations"))["items"]

    assert (denied["request_id"], denied["decision"], denied["reason"]) == (
        "r2",
        "denied",
        "exceeds_limit",
    )
    assert (settled["request_id"], settled["state"], settled["settled"]) == (
        "r1",
        "settled",
        tokens(40),
    )
    assert settled["labels"] == {"team": "x"}


async def test_whom_the_ledger_does_not_know_has_asked_for_what_it_was_denied(ledger):
    stranger = await signed_in(ledger, {"sub": "eve"})
    assert await stranger.call("my_reservations") == {"items": [], "next_cursor": None}
    await ledger.reserve("r1", "eve", tokens(1))
    (denied,) = (await stranger.call("my_reservations"))["items"]
    assert (denied["request_id"], denied["reason"]) == ("r1", "account_unknown")


async def test_pages_follow_each_other_without_a_gap_or_a_repeat(ledger, user, clock):
    for n in range(7):
        await ledger.reserve(f"r{n}", "ann", tokens(1))  # all at one instant
    clock.advance(seconds=1)
    await ledger.reserve("last", "ann", tokens(1))
    seen, cursor = [], None
    while True:
        page = await user.call("my_reservations", max_count=3, cursor=cursor)
        seen += [r["request_id"] for r in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == ["last", "r6", "r5", "r4", "r3", "r2", "r1", "r0"]


async def test_a_page_that_is_just_full_is_the_last(ledger, user):
    await ledger.reserve("r1", "ann", tokens(1))
    assert (await user.call("my_reservations", max_count=1))["next_cursor"] is None
    assert await ids(user, max_count=1) == ["r1"]


@pytest.mark.parametrize("max_count", [0, -1, 501, None])
async def test_a_page_has_from_1_to_500(user, max_count):
    assert_problem(await user.call("my_reservations", max_count=max_count), 400, "malformed")


@pytest.mark.parametrize("cursor", ["", "x", "a~b~c", "2026-13-01T00:00:00Z~a~b", "~~"])
async def test_a_cursor_that_is_none_is_refused(user, cursor):
    problem = await user.call("my_reservations", cursor=cursor)
    assert_problem(problem, 400, "malformed")
    assert problem["errors"][0]["path"] == "cursor"


async def test_a_token_that_names_no_account_gets_nothing(ledger):
    user = await signed_in(ledger, {})
    assert_problem(await user.call("my_reservations"), 403, "forbidden")
