"""Time charges a hold on every budget it held, the leases that gave it back before among them."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.checks import assert_denied, assert_problem
from tests.support.money import rolling, tokens
from tests.support.session import Figures


@pytest.fixture
async def family(ledger):
    """What ann holds is a lease of the organisation's, and charged to herself."""
    await ledger.grant("org", 100, on_expiry="release")
    await ledger.put_account("ann", parent_id="org", max_open_holds=3)
    await ledger.grant("ann", 1000, on_expiry="charge")
    return ledger


async def hold(ledger, clock, name="r1", amount=100):
    """A hold whose time has passed, unswept."""
    reply = await ledger.reserve(name, "ann", tokens(amount), ttl_seconds=5)
    assert reply["decision"] == "authorized"
    clock.advance(seconds=10)


async def lines(ledger, name):
    found = (await ledger.reservation(name))["lines"]
    return {(line["scope"], line["unit"]): (line["state"], line["settled"]) for line in found}


async def mismatches(ledger):
    return await ledger.connection.fetch("select * from preauth_api.verify()")


async def test_what_is_charged_at_expiry_counts_wherever_it_was_held(family, clock):
    await hold(family, clock)
    assert await family.expire() == 1
    assert await family.figures("ann") == Figures(100, 0, 900)
    assert await family.figures("org") == Figures(100, 0, 0)
    assert await lines(family, "r1") == {
        ("ann", "tokens"): ("settled", 100),
        ("ann", "open_holds"): ("lapsed", None),
        ("org", "tokens"): ("settled", 100),
    }
    assert (await family.reserve("r2", "ann", tokens(1)))["scope"] == "org"
    assert await mismatches(family) == []


async def test_a_lease_that_was_given_back_before_the_sweep_is_charged_too(family, clock):
    await hold(family, clock)
    assert (await family.charge("c1", "org", tokens(100)))["decision"] == "authorized"
    await family.expire()
    assert await family.figures("org") == Figures(200, 0, -100)
    assert (await lines(family, "r1"))["org", "tokens"] == ("settled", 100)
    assert await mismatches(family) == []


async def test_what_was_spent_is_what_the_windows_count_however_often(family, clock):
    for n in range(5):
        await hold(family, clock, f"r{n}", 20)
        await family.expire()
    day = timedelta(days=1)
    spent = await family.call("audit_spend", since=clock.now - day, until=clock.now + day)
    assert [item["amount"] for item in spent["items"]] == [100]
    assert [(await family.window(who))["settled"] for who in ("ann", "org")] == [100, 100]
    assert_denied(await family.reserve("r5", "ann", tokens(20)), "budget_exhausted", scope="org")


async def test_it_is_told_as_late_wherever_late_charges_are(family, clock):
    await hold(family, clock)
    await family.expire()
    found = await family.reservation("r1")
    assert (found["settlement"]["late"], found["settlement"]["outcome"]) == (True, "expired")
    assert [line["scope"] for line in found["settlement"]["lines"]] == ["ann", "org"]
    last = found["timeline"][-1]
    assert (last["event"], last["detail"]["outcome"]) == ("late_charge", "expired")
    (listed,) = (await family.call("audit_exceptions", kind="late"))["items"]
    assert (listed["request_id"], listed["outcome"]) == ("r1", "expired")


async def test_a_charge_is_not_late_because_its_slot_of_open_holds_has_lapsed(ledger, clock):
    await ledger.put_account("ann", max_open_holds=3)
    await ledger.grant("ann", on_expiry="charge")
    await hold(ledger, clock)
    await ledger.expire()
    found = await ledger.reservation("r1")
    assert (found["settlement"]["late"], found["timeline"][-1]["event"]) == (False, "settlement")


async def test_a_sweep_that_begins_with_what_lapses_tells_what_it_charges_as_late(family, clock):
    """The figures beside it count no lease that has lapsed, whether or not the sweep came to it."""
    await family.grant("bob", 1000, on_expiry="release")
    await family.grant("ann", 500, "lease", on_expiry="release")
    await family.reserve("a-lapses", "bob", tokens(7), ttl_seconds=5)
    await family.reserve("z-other", "ann", tokens(30), ttl_seconds=5)
    await hold(family, clock, amount=50)
    assert await family.expire() == 3
    for name in ("r1", "z-other"):
        settlement = (await family.reservation(name))["settlement"]
        (line,) = (x for x in settlement["lines"] if x["budget"] == "lease")
        assert settlement["late"] is True
        assert (line["reserved"], line["available"]) == (0, 500 - line["settled"])
    assert (await family.reservation("a-lapses"))["state"] == "lapsed"
    assert (await family.window("org"))["settled"] == 80
    assert await mismatches(family) == []


@pytest.mark.parametrize("swept", [True, False])
async def test_the_settlement_sent_after_it_is_a_replay_and_any_other_call_is_too_late(
    family, clock, swept
):
    await hold(family, clock)
    if swept:
        await family.expire()
    reply = await family.settle("r1", tokens(100))
    assert (reply["replayed"], reply["late"], reply["outcome"]) == (True, True, "expired")
    assert_problem(await family.settle("r1", tokens(99)), 409, "settlement_conflict")
    assert_problem(await family.release("r1"), 409, "already_settled")
    assert (await family.window("org"))["settled"] == 100
    assert await family.count("usage_event") == 1


async def test_it_counts_in_the_slices_of_a_rolling_window_and_is_no_admission_of_it(ledger, clock):
    await ledger.grant("org", 100, window=rolling(3600, 6), on_expiry="release", thresholds=[80])
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 1000, on_expiry="charge")
    for n in range(2):
        await hold(ledger, clock, f"r{n}")
    assert await ledger.expire() == 2
    assert await ledger.figures("org") == Figures(200, 0, -100)
    assert await ledger.count("outbox") == 1
    assert await mismatches(ledger) == []


async def test_a_settled_reservation_with_a_line_that_counts_nothing_is_found(family, clock):
    await hold(family, clock)
    await family.expire()
    transaction = family.connection.transaction()
    await transaction.start()
    await lose_the_lease(family)
    found = {row["check_name"] for row in await mismatches(family)}
    await transaction.rollback()
    assert found == {"lines_of_what_is_settled_are_settled"}


async def test_what_an_earlier_release_charged_without_its_leases_is_no_page_for_the_owner(
    family, clock
):
    """It is listed for those who look (docs/operations.md), and corrected by adjustments."""
    await hold(family, clock)
    await family.expire()
    await lose_the_lease(family)
    await family.connection.execute(
        """update preauth.reservation set closure = closure || '{"late": false}'"""
    )
    assert await mismatches(family) == []
    operations = (Path(__file__).parents[3] / "docs" / "operations.md").read_text("utf-8")
    (uncounted,) = re.findall(r"```sql\n(select [^`]*'lapsed'[^`]*)```", operations)
    assert [tuple(row) for row in await family.connection.fetch(uncounted)] == [
        ("org", "cap", "tokens", "lifetime", 100)
    ]


async def lose_the_lease(ledger):
    """As releases before this one closed it: given back, and not charged."""
    await ledger.connection.execute(
        "with l as (update preauth.hold_line set state = 'lapsed', settled_amount = null"
        " where amount = 100 and window_id in (select window_id from preauth.budget_window where account_id = 'org') returning *)"
        " update preauth.budget_window as w set settled = settled - l.amount from l where w.window_id = l.window_id"
    )
