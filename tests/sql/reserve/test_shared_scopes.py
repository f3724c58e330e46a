"""What an account may see of its ancestors: name, limit, reset; never a fill level."""

import json

import pytest

from tests.support.checks import assert_denied
from tests.support.money import MONTH, tokens


@pytest.fixture
async def team(ledger):
    """org (limit 1000) over team (limit 800) over ann (limit 600) and bob."""
    await ledger.grant("org", 1000, "org-cap", window=MONTH)
    await ledger.put_account("team", parent_id="org")
    await ledger.grant("team", 800, "team-cap", window=MONTH)
    await ledger.put_account("ann", parent_id="team")
    await ledger.grant("ann", 600, "own-cap", window=MONTH)
    await ledger.put_account("bob", parent_id="team")
    return ledger


async def test_available_is_told_on_own_lines_only(team, clock):
    reply = await team.reserve("r1", "ann", tokens(100))
    own, *shared = reply["lines"]
    assert own["available"] == 500
    assert [line["scope"] for line in shared] == ["team", "org"]
    assert all("available" not in line for line in shared)


async def test_a_hold_counts_in_every_scope_up_to_the_root(team, clock):
    await team.reserve("r1", "ann", tokens(100))
    for name, scope in (("own-cap", "ann"), ("team-cap", "team"), ("org-cap", "org")):
        assert (await team.window("ann", name, scope))["reserved"] == 100


async def test_a_denial_by_a_shared_scope_tells_its_name_and_limit_but_no_fill_level(team, clock):
    await team.reserve("r0", "bob", tokens(731))
    reply = await team.reserve("r1", "ann", tokens(100))
    assert_denied(
        reply, "budget_exhausted", scope="team", budget="team-cap", limit=800, required=100,
        unit="tokens", window="2026-09",
    )  # fmt: skip
    assert not {"available", "affordable", "settled", "reserved"} & set(reply)
    assert reply["resets_at"] is not None


async def test_nothing_about_a_shared_scope_can_be_worked_out_from_the_reply(team, clock):
    await team.reserve("r0", "bob", tokens(731))
    row = await team.one("reserve", request_id="r1", account_id="ann", amounts=tokens(100))
    text = json.dumps([row.body, row.headers])
    assert "731" not in text
    assert "69" not in text.replace("2026-09", "")


@pytest.mark.parametrize("enforcement", ["soft", "observe"])
async def test_over_limit_speaks_of_the_accounts_own_budgets(ledger, clock, enforcement):
    overdraft = {"overdraft_amount": 5000} if enforcement == "soft" else {}
    await ledger.grant("team", 100, enforcement=enforcement, **overdraft)
    await ledger.put_account("ann", parent_id="team")
    await ledger.grant("ann", 300, enforcement=enforcement, **overdraft)
    answers = [
        [await ledger.reserve(request_id, "ann", tokens(250)) for _ in range(2)]
        for request_id in ("r1", "r2")
    ]
    assert (await ledger.window("team"))["reserved"] == 500
    assert [[reply["over_limit"] for reply in pair] for pair in answers] == [
        [False, False],
        [True, True],
    ]


async def test_rate_limit_headers_speak_of_the_accounts_own_tightest_budget(team, clock):
    await team.reserve("r0", "bob", tokens(700))
    row = await team.one("reserve", request_id="r1", account_id="ann", amounts=tokens(100))
    assert row.status == 200
    assert "own-cap" in row.headers["RateLimit-Policy"]
    assert "500" in row.headers["RateLimit"]
    assert "team-cap" not in json.dumps(row.headers)


async def test_an_account_without_own_budgets_gets_no_rate_limit_headers(team, clock):
    row = await team.one("reserve", request_id="r1", account_id="bob", amounts=tokens(100))
    assert row.status == 200
    assert row.headers.get("RateLimit") is None
    assert row.headers.get("RateLimit-Policy") is None


async def test_siblings_share_their_parents_room(team, clock):
    await team.reserve("r1", "ann", tokens(600))
    assert_denied(await team.reserve("r2", "bob", tokens(201)), "budget_exhausted", scope="team")
    assert (await team.reserve("r3", "bob", tokens(200)))["decision"] == "authorized"


async def test_the_lines_of_a_settlement_keep_shared_figures_back_too(team, clock):
    await team.reserve("r1", "ann", tokens(100))
    own, *shared = (await team.settle("r1", tokens(40)))["lines"]
    assert (own["settled"], own["reserved"], own["available"]) == (40, 0, 560)
    for line in shared:
        assert not {"settled", "reserved", "available"} & set(line)
        assert (line["held"], line["amount"]) == (100, 40)
