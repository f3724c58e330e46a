"""Timelines, stuck holds, exceptions, spend, corrections and changes."""

from datetime import timedelta
from typing import ClassVar

import pytest

from tests.support.checks import assert_problem
from tests.support.clock import NOON
from tests.support.money import DOLLAR, LIFETIME, budget, tokens, usd
from tests.support.prices import MODEL, publish, rates, spend


@pytest.fixture(autouse=True)
async def ann(ledger, clock):
    await ledger.grant("ann", 1000, overage="reject")


async def asked(ledger, question, **arguments):
    return (await ledger.call(f"audit_{question}", **arguments))["items"]


async def test_a_timeline_has_every_step_with_its_amounts_and_actor(ledger, clock):
    await ledger.reserve("r1", "ann", tokens(400), model="gpt", ttl_seconds=10)
    clock.advance(seconds=5)
    await ledger.call("extend", request_id="r1", ttl_seconds=20)
    clock.advance(seconds=1)
    await ledger.settle("r1", tokens(500))
    await ledger.call("resolve", request_id="r1", action="accept_overage", reason="it was billed")

    found = await ledger.call("audit_timeline", request_id="r1")

    first, *_, last = found["items"]
    assert [step["event"] for step in found["items"]] == [
        "authorized", "extended", "settlement_exceeds_hold", "settlement",
    ]  # fmt: skip
    assert (first["amounts"], first["detail"]["lines"][0]["available"]) == (tokens(400), 600)
    assert (last["amounts"], last["overage"]) == (tokens(500), tokens(100))
    assert found["state"] == "settled"
    assert {step["actor"] for step in found["items"]} == {"postgres"}


async def test_the_timeline_of_a_denial_has_its_figures(ledger):
    await ledger.reserve("no", "ann", tokens(2000))
    (step,) = await asked(ledger, "timeline", request_id="no")
    assert (step["event"], step["detail"]["denial"]["limit"]) == ("denied", 1000)


async def test_a_timeline_leaves_out_the_budgets_that_took_no_part(ledger):
    """A charge is no hold: the bound of open holds stands between what it counts in."""
    await ledger.put_account("org")
    await ledger.grant("org", 5000, name="shared")
    await ledger.put_account("kid", parent_id="org", max_open_holds=1)
    await ledger.grant("kid", 1000, name="own")
    await ledger.charge("c1", "kid", tokens(3))
    first, _ = await asked(ledger, "timeline", request_id="c1")
    assert [line["budget"] for line in first["detail"]["lines"]] == ["own", "shared"]


async def test_one_id_of_two_accounts_is_told_apart_by_the_account(ledger):
    await ledger.grant("bob", 1000)
    await ledger.reserve("r1", "ann", tokens(1))
    await ledger.reserve("r1", "bob", tokens(2))
    (step,) = await asked(ledger, "timeline", request_id="r1", account_id="bob")
    assert step["amounts"] == tokens(2)
    assert_problem(await ledger.call("audit_timeline", request_id="r1"), 409, "account_id_required")


async def test_a_timeline_of_nothing_is_refused(ledger):
    assert_problem(await ledger.call("audit_timeline", request_id="x"), 404, "reservation_unknown")
    assert_problem(await ledger.call("audit_timeline"), 400, "malformed")


async def test_stuck_holds_come_the_oldest_first_swept_or_not(ledger, clock):
    await ledger.reserve("old", "ann", tokens(100), ttl_seconds=10)
    clock.advance(seconds=60)
    await ledger.expire()
    await ledger.reserve("review", "ann", tokens(100), ttl_seconds=10)
    await ledger.settle("review", tokens(300))
    clock.advance(seconds=60)
    await ledger.reserve("unswept", "ann", tokens(50), ttl_seconds=10)
    await ledger.reserve("open", "ann", tokens(1), ttl_seconds=86400)
    clock.advance(seconds=60)

    found = await asked(ledger, "stuck")

    assert [(h["request_id"], h["state"], h["age_seconds"]) for h in found] == [
        ("old", "unknown", 180),
        ("review", "overage_review", 120),
        ("unswept", "unknown", 60),
    ]
    assert [h["held"] for h in found] == [tokens(100), tokens(100), tokens(50)]
    assert [h["refused"] for h in found] == [None, tokens(300), None]
    older = await asked(ledger, "stuck", older_than_seconds=100)
    assert [h["request_id"] for h in older] == ["old", "review"]
    page = await ledger.call("audit_stuck", max_count=2)
    rest = await ledger.call("audit_stuck", max_count=2, cursor=page["next_cursor"])
    assert [h["request_id"] for h in rest["items"]] == ["unswept"]
    assert await asked(ledger, "stuck", account_id="bob") == []
    assert_problem(await ledger.call("audit_stuck", older_than_seconds=-1), 400, "malformed")


async def test_exceptions_are_overages_late_settlements_and_recorded_spend(ledger, clock):
    await ledger.grant("bob", 1000, on_expiry="release")
    await ledger.reserve("over", "bob", tokens(100))
    await ledger.settle("over", tokens(150))
    clock.advance(seconds=1)
    await ledger.reserve("late", "bob", tokens(100), ttl_seconds=1)
    clock.advance(seconds=2)
    await ledger.settle("late", tokens(90))
    clock.advance(seconds=1)
    await ledger.charge("recorded", "bob", tokens(5000), record=True)
    await ledger.charge("plain", "bob", tokens(1))

    found = await asked(ledger, "exceptions")

    assert [(e["request_id"], e["late"], e["recorded"], e["overage"]) for e in found] == [
        ("recorded", False, True, {}),
        ("late", True, False, {}),
        ("over", False, False, tokens(50)),
    ]
    for kind, request_id in (("overage", "over"), ("late", "late"), ("recorded", "recorded")):
        assert [e["request_id"] for e in await asked(ledger, "exceptions", kind=kind)] == [
            request_id
        ]
    assert await asked(ledger, "exceptions", account_id="ann") == []
    page = await ledger.call("audit_exceptions", max_count=1)
    rest = await asked(ledger, "exceptions", cursor=page["next_cursor"])
    assert [e["request_id"] for e in rest] == ["late", "over"]
    for wrong in ({"kind": "x"}, {"cursor": "2026-09-14T12:00:00Z~x~"}):
        assert_problem(await ledger.call("audit_exceptions", **wrong), 400, "malformed")


async def test_spend_is_summed_by_day_model_label_and_unit(ledger, clock):
    await ledger.put_budget("ann", "usd", budget(limit=None, unit="usd_nano", window=LIFETIME))
    spends = [
        (0, "gpt", "x", 100),
        (0, "gpt", "y", 10),
        (11, "gpt", "x", 1),
        (13, "claude", "x", 5),
    ]
    for n, (hours, model, team, amount) in enumerate(spends):
        clock.set(NOON + timedelta(hours=hours))
        amounts = {**tokens(amount), **usd(amount * 7)}
        await ledger.charge(f"c{n}", "ann", amounts, model=model, labels={"team": team})
    period = {"since": NOON, "until": NOON + timedelta(days=2)}

    async def sums(*keys, **more):
        found = await asked(ledger, "spend", **period, **more)
        return {
            tuple(row[k] for k in keys): row["amount"] for row in found if row["unit"] == "tokens"
        }

    assert await sums("day") == {("2026-09-14",): 111, ("2026-09-15",): 5}
    assert await sums("day", time_zone="Asia/Tokyo") == {("2026-09-14",): 110, ("2026-09-15",): 6}
    assert await sums("model", by=["model"]) == {("gpt",): 111, ("claude",): 5}
    assert await sums("label", "model", by=["label", "model"], label="team") == {
        ("x", "gpt"): 101, ("y", "gpt"): 10, ("x", "claude"): 5,
    }  # fmt: skip
    assert await sums("account_id", by=["account"], model="claude") == {("ann",): 5}
    assert await sums("day", account_id="bob") == {}
    whole = await asked(ledger, "spend", **period, by=[])
    assert {row["unit"]: (row["amount"], row["events"]) for row in whole} == {
        "tokens": (116, 4), "usd_nano": (812, 4),
    }  # fmt: skip
    # since belongs to the question, until does not
    period |= {"since": NOON + timedelta(hours=11), "until": NOON + timedelta(hours=13)}
    assert await sums("model", by=["model"]) == {("gpt",): 1}
    period |= {"since": NOON, "until": NOON + timedelta(days=2)}
    page = await ledger.call("audit_spend", **period, max_count=3)
    rest = await asked(ledger, "spend", **period, cursor=page["next_cursor"])
    assert page["items"] + rest == await asked(ledger, "spend", **period)
    assert len(rest) == 1


class TestSpendThatWasCorrected:
    """u below team, each with two budgets of money, so that one spend counts on four windows."""

    PERIOD: ClassVar = {"since": NOON, "until": NOON + timedelta(days=2)}
    USAGE: ClassVar = {"output_tokens": 20_000}

    @pytest.fixture(autouse=True)
    async def spent(self, ledger, clock):
        await ledger.put_account("team")
        await ledger.put_account("u", parent_id="team")
        for account in ("u", "team"):
            for name in ("day", "month"):
                await ledger.grant(account, DOLLAR, name, unit="usd_nano")
        wrong = await publish(ledger, rates=rates(output_tokens="5"))
        await spend(ledger, "c1", "u", self.USAGE, labels={"feature": "chat"})
        clock.advance(seconds=1)
        right = await publish(ledger, rates=rates(output_tokens="3"))
        tables = {"wrong_table": wrong["price_table_id"], "right_table": right["price_table_id"]}
        await ledger.call("rerate", **tables, **self.PERIOD, confirm=True)

    async def test_a_rerating_changes_what_its_spend_comes_to_once(self, ledger):
        by = ["account", "model", "label"]
        found = await asked(ledger, "spend", **self.PERIOD, by=by, label="feature")
        sums = {
            (row["account_id"], row["model"], row["label"]): (row["amount"], row["events"])
            for row in found if row["unit"] == "usd_nano"
        }  # fmt: skip
        assert sums == {("u", MODEL, "chat"): (60_000_000, 1)}
        of_model = await asked(ledger, "spend", **self.PERIOD, account_id="u", model=MODEL)
        assert {row["unit"]: row["amount"] for row in of_model} == {
            "usd_nano": 60_000_000, "tokens": 20_000,
        }  # fmt: skip

    async def test_it_counts_when_it_was_written(self, ledger, clock):
        before = {"since": NOON, "until": clock.now}
        (money,) = [row for row in await asked(ledger, "spend", **before) if row["unit"] == "usd_nano"]  # fmt: skip
        assert money["amount"] == 100_000_000

    async def test_a_correction_by_hand_is_no_spend_of_a_model(self, ledger, clock):
        before = await asked(ledger, "spend", **self.PERIOD)
        body = {"budget": "day", "amount": -7, "reason": "goodwill", "idempotency_key": "k1"}
        await ledger.call("adjust", account_id="u", body=body)
        assert await asked(ledger, "spend", **self.PERIOD) == before
        newest, *_ = await asked(ledger, "adjustments", account_id="u")
        assert (newest["amount"], newest["budget"]) == (-7, "day")

    async def test_the_view_tells_each_apart(self, ledger, clock):
        body = {"budget": "day", "amount": -7, "reason": "goodwill", "idempotency_key": "k1"}
        await ledger.call("adjust", account_id="u", body=body)
        rows = await ledger.connection.fetch(
            "select account_id, request_id, kind, amount, model, labels ->> 'feature', window_id is null"
            " from preauth_api.spend where unit = 'usd_nano' order by kind"
        )
        assert [tuple(row) for row in rows] == [
            ("u", "k1", "adjustment", -7, None, None, False),
            ("u", "c1", "charge", 100_000_000, MODEL, "chat", True),
            ("u", "c1", "rerated", -40_000_000, MODEL, "chat", True),
        ]

    @pytest.mark.parametrize("key", ["rerate:", "rerate:1", "rerate:1:2:again"])
    async def test_a_corrections_key_does_not_hide_it_from_the_view(self, ledger, clock, key):
        body = {"budget": "day", "amount": -7, "reason": "goodwill", "idempotency_key": key}
        await ledger.call("adjust", account_id="u", body=body)
        found = await ledger.connection.fetchval(
            "select amount from preauth_api.spend where request_id = $1", key
        )
        assert found == -7


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"since": None}, "since"),
        ({"until": NOON}, "until"),
        ({"by": ["month"]}, "by"),
        ({"by": ["label"]}, "label"),
        ({"label": "team"}, "label"),
        ({"time_zone": "Mars/Base"}, "time_zone"),
    ],
)
async def test_a_question_for_spend_must_make_sense(ledger, wrong, path):
    good = {"since": NOON, "until": NOON + timedelta(days=1)}
    problem = await ledger.call("audit_spend", **{**good, **wrong})
    assert_problem(problem, 400, "malformed")
    assert [e["path"] for e in problem["errors"]] == [path]


async def test_a_changed_limit_is_an_adjustment_with_its_reason(ledger, clock):
    await ledger.reserve("r1", "ann", tokens(1))
    clock.advance(seconds=1)
    await ledger.put_budget(
        "ann", "cap", budget(limit=2000, overage="reject", reason="asked for it")
    )
    (change,) = await asked(ledger, "adjustments")
    assert (change["limit_before"], change["limit_after"]) == (1000, 2000)
    assert (change["budget"], change["unit"], change["reason"]) == ("cap", "tokens", "asked for it")
    assert await asked(ledger, "adjustments", account_id="bob") == []


async def test_changes_are_found_by_what_was_changed(ledger):
    await ledger.put_budget("ann", "cap", budget(limit=2000, overage="reject", reason="more"))
    newest, oldest = await asked(ledger, "changes", subject="budget")
    assert (newest["subject_id"], newest["reason"]) == ("account:ann/cap", "more")
    assert (newest["before"]["limit_amount"], newest["after"]["limit_amount"]) == (1000, 2000)
    assert oldest["before"] is None
    assert len(await asked(ledger, "changes", subject="account", subject_id="ann")) == 1
    page = await ledger.call("audit_changes", max_count=1)
    assert len(await asked(ledger, "changes", cursor=page["next_cursor"])) == 2


async def test_verification_is_told_as_json(ledger):
    assert await ledger.call("audit_verify") == {"consistent": True, "items": []}


@pytest.mark.tampered
async def test_a_mismatch_is_an_item(ledger):
    await ledger.reserve("r1", "ann", tokens(1))
    await ledger.connection.execute("update preauth.budget_window set reserved = 2")
    found = await ledger.call("audit_verify")
    assert found["consistent"] is False
    assert found["items"][0]["check_name"] == "window_reserved_is_sum_of_held_lines"


async def test_an_auditor_reads_the_views_and_writes_nothing(ledger):
    await ledger.reserve("r1", "ann", tokens(400), labels={"team": "x"})
    await ledger.reserve("no", "ann", tokens(700))
    await ledger.settle("r1", tokens(30))
    auditor = await ledger.connect()
    await auditor.connection.execute("set role preauth_audit")

    async def rows(query):
        return [tuple(row) for row in await auditor.connection.fetch(query)]

    assert await rows(
        "select request_id, decision, state, reason, required, available from preauth_api.decisions order by request_id"
    ) == [("no", "denied", "denied", "budget_exhausted", 700, 600), ("r1", "authorized", "settled", None, None, None)]  # fmt: skip
    assert await rows("select amount, settled_amount, state, available_after from preauth_api.holds") == [(400, 30, "settled", 600)]  # fmt: skip
    assert await rows("select budget, settled, reserved, available from preauth_api.windows") == [("cap", 30, 0, 970)]  # fmt: skip
    assert await rows("select kind, unit, amount, labels ->> 'team' from preauth_api.spend") == [("settlement", "tokens", 30, "x")]  # fmt: skip
    with pytest.raises(Exception, match="permission denied"):
        await auditor.connection.execute("select from preauth.reservation")


@pytest.mark.parametrize("call", ["audit_adjustments", "audit_changes"])
@pytest.mark.parametrize(("field", "value"), [("max_count", 501), ("cursor", "x")])
async def test_a_page_that_makes_no_sense_is_refused(ledger, call, field, value):
    problem = await ledger.call(call, **{field: value})
    assert_problem(problem, 400, "malformed")
    assert problem["errors"][0]["path"] == field
