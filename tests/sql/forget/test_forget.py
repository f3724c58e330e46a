"""An account under another name: nowhere the old one, everywhere the same sums."""

import asyncio
import re

import pytest

from tests.support.checks import assert_problem
from tests.support.money import budget, tokens
from tests.support.waits import until

NAME = "jane.doe@example.com"
KNOWN = {"account_id", "parent_id", "scope"}
"""Text columns that hold an account's id, by name."""


@pytest.fixture(autouse=True)
async def life(ledger):
    """Jane below org, with a child of her own, spend, denials, changes and a key."""
    await ledger.grant("org", 5000, name="shared")
    await ledger.put_account(NAME, parent_id="org", reason=f"new: {NAME}")
    await ledger.grant(NAME, 1000)
    await ledger.put_account("agent", parent_id=NAME)
    await ledger.reserve("r1", NAME, tokens(400), labels={"who": "jane"}, session_id="s-1")
    await ledger.settle("r1", tokens(300), provider_request_id="p-1")
    await ledger.reserve("r2", NAME, tokens(900))
    await ledger.reserve("r3", "agent", tokens(900))
    await ledger.charge("c1", "agent", tokens(50))
    await ledger.reserve("gone", NAME, tokens(1))
    await ledger.release("gone")
    await ledger.put_budget(NAME, "cap", budget(limit=2000, reason="more"))
    await ledger.call(
        "put_raise",
        account_id=NAME,
        name="cap",
        body={"amount": 5, "expires_at": "2099-01-01T00:00:00Z", "reason": "guest"},
    )
    await ledger.call(
        "adjust",
        account_id=NAME,
        body={"budget": "cap", "amount": -1, "reason": "wrong", "idempotency_key": "a-1"},
    )
    await ledger.call("create_key", name="k", role="spend", key_hash=b"k" * 32, account_id=NAME)


async def dump(ledger):
    names = await ledger.connection.fetch(
        "select relname from pg_class where relnamespace = 'preauth'::regnamespace and relkind = 'r'"
    )
    return {
        name: "\n".join(
            row[0]
            for row in await ledger.connection.fetch(
                f"select to_jsonb(t)::text from preauth.{name} t"
            )
        )
        for (name,) in names
    }


async def sums(ledger):
    return await ledger.connection.fetchrow(
        "select (select sum(settled) from preauth.budget_window), (select sum(settled_amount) from preauth.hold_line),"
        " (select count(*) from preauth.reservation), (select sum((amounts ->> 'tokens')::bigint) from preauth.usage_event)"
    )


async def test_the_name_is_nowhere_any_more_and_the_sums_are_the_same(ledger):
    before = await sums(ledger)

    found = await ledger.call("forget", account_id=NAME, reason="asked to be forgotten")

    pseudonym = found["account_id"]
    assert re.fullmatch(r"forgotten:[0-9a-f]{32}", pseudonym)
    assert await sums(ledger) == before
    left = await dump(ledger)
    left["change_log"] = left["change_log"].replace(
        f"new: {NAME}", ""
    )  # a reason is what a person wrote
    for word in (NAME, "jane", "s-1", "p-1"):
        assert [table for table, text in left.items() if word in text] == []
    assert pseudonym in left["budget_window"]
    assert (await ledger.figures(pseudonym)).settled == 349
    assert (await ledger.call("account", account_id="agent"))["path"] == ["agent", pseudonym, "org"]
    assert (await ledger.reservation("r1"))["account_id"] == pseudonym
    assert_problem(await ledger.call("account", account_id=NAME), 404, "account_unknown")


async def test_what_was_below_it_goes_on_spending_within_the_same_budgets(ledger):
    pseudonym = (await ledger.call("forget", account_id=NAME, reason="x"))["account_id"]
    assert (await ledger.reserve("later", "agent", tokens(100)))["decision"] == "authorized"
    assert (await ledger.figures(pseudonym)).reserved == 100


async def test_an_account_that_holds_something_is_not_forgotten(ledger):
    await ledger.reserve("open", NAME, tokens(1))
    before = await ledger.contents()
    assert_problem(await ledger.call("forget", account_id=NAME, reason="x"), 409, "holds_open")
    assert await ledger.contents() == before


async def due(ledger, clock, on_expiry):
    """A hold whose time has passed, unswept, on budgets with that policy and leases above."""
    await ledger.grant("org", 5000, name="shared", on_expiry="release")
    await ledger.grant(NAME, 2000, on_expiry=on_expiry, thresholds=[1])
    await ledger.reserve("due", NAME, tokens(100), ttl_seconds=5)
    clock.advance(seconds=5)


@pytest.mark.parametrize("on_expiry", ["release", "charge"])
async def test_what_time_has_ended_is_no_open_hold_though_no_sweep_has_come(
    ledger, clock, on_expiry
):
    await due(ledger, clock, on_expiry)
    pseudonym = (await ledger.call("forget", account_id=NAME, reason="x"))["account_id"]
    figures = await ledger.figures(pseudonym)
    assert (figures.settled, figures.reserved) == (349 + 100 * (on_expiry == "charge"), 0)
    left = await dump(ledger)
    assert [t for t, text in left.items() if NAME in text and t != "change_log"] == []
    assert await ledger.expire() == 0
    assert await ledger.connection.fetch("select * from preauth_api.verify()") == []


async def test_what_time_has_made_unknown_is_still_held(ledger, clock):
    await due(ledger, clock, "keep")
    assert_problem(await ledger.call("forget", account_id=NAME, reason="x"), 409, "holds_open")
    assert (await ledger.figures(NAME)).reserved == 100


async def test_it_has_locked_no_window_while_it_waits_for_who_settles_a_hold_that_is_due(
    ledger, clock
):
    """Windows come after reservations, for everybody: else both would wait for each other."""
    await due(ledger, clock, "release")
    parked, forgetting = await ledger.sessions(2)
    async with parked.connection.transaction():
        await parked.connection.fetch(
            "select from preauth.reservation where request_id = 'due' for update"
        )
        waiting = asyncio.create_task(forgetting.call("forget", account_id=NAME, reason="x"))
        await until(lambda: ledger.waits(forgetting), "it waits for the reservation")
        await ledger.connection.fetch("select from preauth.budget_window for update nowait")
        assert (await parked.settle("due", tokens(60)))["late"] is True
    pseudonym = (await waiting)["account_id"]
    assert (await ledger.figures(pseudonym)).settled == 349 + 60


async def test_an_account_that_is_called_as_a_unit_is_keeps_every_other_meaning(ledger):
    await ledger.grant("tokens", 1000)
    await ledger.charge("x1", "tokens", tokens(7))
    await ledger.reserve("x2", "tokens", tokens(5000))
    pseudonym = (await ledger.call("forget", account_id="tokens", reason="x"))["account_id"]
    assert (await ledger.figures(pseudonym)).settled == 7
    denial = (await ledger.reservation("x2"))["denial"]
    assert (denial["unit"], denial["scope"]) == ("tokens", pseudonym)


async def test_an_account_whose_name_another_one_begins_with_takes_only_its_own(ledger):
    await ledger.grant("a", 10)
    await ledger.grant("a/b", 10)
    await ledger.call("forget", account_id="a", reason="x")
    changes = (await ledger.call("audit_changes"))["items"]
    assert {"a/b", "account:a/b/cap"} <= {change["subject_id"] for change in changes}
    assert (await ledger.reserve("r9", "a/b", tokens(1)))["decision"] == "authorized"


async def test_it_takes_a_known_account_and_a_reason(ledger):
    assert_problem(await ledger.call("forget", account_id=NAME), 400, "malformed")
    assert_problem(await ledger.call("forget", account_id="x", reason="x"), 404, "account_unknown")


async def test_no_text_column_is_left_out(ledger):
    """A new column that may name an account has a name of its kind, or is added to those that do not."""
    others = {
        "request_id", "plan_id", "name", "unit", "window_key", "time_zone", "status", "owner", "model", "enforcement",
        "overage", "on_expiry", "call", "state", "actor", "kind", "outcome", "provider_request_id", "reason", "event",
        "subject", "subject_id", "key_id", "role", "version_num", "suspended", "idempotency_key", "source", "alias_of",
        "variant", "published_by", "unpriced", "next_plan_id", "plan_change_reason", "plan_change_actor", "topic",
    }  # fmt: skip
    columns = await ledger.connection.fetch(
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped"
        " where c.relnamespace = 'preauth'::regnamespace and c.relkind = 'r' and a.atttypid in ('text'::regtype, 'varchar'::regtype)"
    )
    assert {tuple(row) for row in columns if row["attname"] not in KNOWN | others} == set()
