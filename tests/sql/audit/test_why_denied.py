"""The rows that proved a denial, as they were at its instant, however much came later."""

import random

import pytest

from tests.support.checks import assert_problem
from tests.support.ledger import Ledger
from tests.support.money import budget, calendar, rolling, tokens


def holds(found):
    return {h["request_id"]: h["amount"] for h in found["items"]}


async def test_the_holds_that_used_the_room_are_named_even_after_they_are_gone(ledger):
    await ledger.grant("ann", 1000)
    await ledger.reserve("spent", "ann", tokens(300))
    await ledger.settle("spent", tokens(100))
    await ledger.reserve("a", "ann", tokens(400))
    await ledger.reserve("gone", "ann", tokens(50))
    await ledger.release("gone")
    await ledger.reserve("b", "ann", tokens(200))
    await ledger.reserve("no", "ann", tokens(301))
    await ledger.settle("a", tokens(10))
    await ledger.release("b")
    await ledger.reserve("later", "ann", tokens(500))

    found = await ledger.call("audit_why_denied", request_id="no")

    assert holds(found) == {"b": 200, "a": 400}
    then = {
        name: found["denial"][name]
        for name in ("limit", "settled", "reserved", "available", "required")
    }
    assert then == {
        "limit": 1000,
        "settled": 100,
        "reserved": 600,
        "available": 300,
        "required": 301,
    }
    assert (found["items_amount"], found["held_by_others"]) == (600, 0)
    now = {name: found["window"][name] for name in ("limit", "settled", "reserved", "available")}
    assert now == {"limit": 1000, "settled": 110, "reserved": 500, "available": 390}


async def test_a_rolling_windows_figures_now_are_without_what_has_aged_out(ledger, clock):
    await ledger.grant("ann", 1000, window=rolling(60, 6))
    await ledger.charge("old", "ann", tokens(600))
    clock.advance(seconds=30)
    await ledger.charge("new", "ann", tokens(300))
    await ledger.reserve("no", "ann", tokens(200))
    clock.advance(seconds=45)
    found = await ledger.call("audit_why_denied", request_id="no")
    assert found["denial"]["settled"] == 900
    assert (found["window"]["settled"], found["window"]["available"]) == (300, 700)


FIGURES = ("limit", "settled", "reserved", "available")


async def lapse(ledger: Ledger) -> None:
    await ledger.grant("ann", 1000, on_expiry="release")
    await ledger.reserve("lease", "ann", tokens(900), ttl_seconds=5)
    await ledger.reserve("open", "ann", tokens(30), ttl_seconds=86_400)


async def lapse_of_another_expiry(ledger: Ledger) -> None:
    await lapse(ledger)
    await ledger.grant("ann", 1000, on_expiry="keep")


async def end_of_a_raise(ledger: Ledger) -> None:
    await ledger.grant("ann", 1000)
    body = {"amount": 500, "expires_at": "2026-09-14T13:00:00Z", "reason": "a launch"}
    await ledger.call("put_raise", account_id="ann", name="cap", body=body)
    await ledger.reserve("open", "ann", tokens(30))


async def beginning_of_a_plan(ledger: Ledger) -> None:
    await ledger.put_plan("trial", budget("cap", 1000))
    await ledger.put_plan("paid", budget("cap", 50))
    await ledger.put_account("ann", plan_id="trial")
    body = {"plan_id": "paid", "at": "2026-09-14T13:00:00Z", "reason": "the trial ends"}
    await ledger.call("switch_plan", account_id="ann", body=body)
    await ledger.charge("spent", "ann", tokens(10))


async def beginning_of_a_plan_under_a_raise_with_a_lease(ledger: Ledger) -> None:
    await ledger.put_plan("trial", budget("cap", 1000, on_expiry="release"))
    await ledger.put_plan("paid", budget("cap", 50, on_expiry="release"))
    await ledger.put_account("ann", plan_id="trial")
    body = {"plan_id": "paid", "at": "2026-09-14T13:00:00Z", "reason": "the trial ends"}
    await ledger.call("switch_plan", account_id="ann", body=body)
    body = {"amount": 500, "expires_at": "2026-09-14T13:30:00Z", "reason": "a launch"}
    await ledger.call("put_raise", account_id="ann", name="cap", body=body)
    await ledger.reserve("lease", "ann", tokens(900), ttl_seconds=5)


@pytest.mark.parametrize(
    "begin",
    [
        lapse,
        lapse_of_another_expiry,
        end_of_a_raise,
        beginning_of_a_plan,
        beginning_of_a_plan_under_a_raise_with_a_lease,
    ],
)
async def test_the_window_as_it_is_now_is_what_the_balance_says(ledger, clock, begin):
    """Time alone has changed it: nothing is written down yet."""
    await begin(ledger)
    await ledger.reserve("no", "ann", tokens(5000))
    for now in ("12:00:01", "13:00:00", "13:30:00", "14:00:00"):
        clock.set(f"2026-09-14T{now}Z")
        told = (await ledger.call("audit_why_denied", request_id="no"))["window"]
        balance = await ledger.window("ann")
        assert [told[f] for f in FIGURES] == [balance[f] for f in FIGURES], now


async def test_a_window_that_is_over_shows_how_it_ended(ledger, clock):
    """The lease has lapsed, and the raise ended before it did; nobody has asked since."""
    await ledger.grant("ann", 1000, on_expiry="release", window=calendar("day"))
    body = {"amount": 500, "expires_at": "2026-09-14T13:00:00Z", "reason": "a launch"}
    await ledger.call("put_raise", account_id="ann", name="cap", body=body)
    await ledger.reserve("lease", "ann", tokens(900), ttl_seconds=5)
    await ledger.reserve("no", "ann", tokens(5000))
    clock.set("2026-09-16T12:00:00Z")
    told = (await ledger.call("audit_why_denied", request_id="no"))["window"]
    assert [told[f] for f in FIGURES] == [1000, 0, 0, 1000]


async def test_a_shared_scopes_holds_are_those_of_all_below_it(ledger):
    await ledger.grant("org", 1000, name="shared")
    for name in ("ann", "bob"):
        await ledger.put_account(name, parent_id="org")
        await ledger.grant(name, 5000)
        await ledger.reserve(f"of-{name}", name, tokens(400))
    await ledger.reserve("no", "ann", tokens(300))

    found = await ledger.call("audit_why_denied", request_id="no")

    assert found["denial"]["scope"] == "org"
    assert holds(found) == {"of-ann": 400, "of-bob": 400}


async def test_where_an_account_has_others_below_it_its_own_denial_names_theirs_too(ledger):
    await ledger.grant("org", 1000)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 5000)
    await ledger.reserve("of-org", "org", tokens(300))
    await ledger.reserve("of-ann", "ann", tokens(400))
    await ledger.reserve("no", "org", tokens(301))

    found = await ledger.call("audit_why_denied", request_id="no")

    assert holds(found) == {"of-ann": 400, "of-org": 300}
    assert found["held_by_others"] == 0


async def test_the_holds_of_those_who_have_moved_away_since_are_named(ledger):
    await ledger.grant("org", 1000, name="shared")
    for name in ("ann", "bob"):
        await ledger.put_account(name, parent_id="org")
        await ledger.grant(name, 5000)
        await ledger.reserve(f"of-{name}", name, tokens(400))
    await ledger.reserve("no", "ann", tokens(300))
    for name in ("ann", "bob"):
        await ledger.put_account(name, parent_id=None)
    found = await ledger.call("audit_why_denied", request_id="no")
    assert holds(found) == {"of-ann": 400, "of-bob": 400}


async def test_holds_are_told_newest_first_though_those_nobody_ended_are_looked_for_apart(
    ledger, clock
):
    await ledger.grant("ann", 1000)
    for name, outcome in (("a", "unknown"), ("b", None), ("c", "unknown"), ("d", None)):
        clock.advance(seconds=1)
        await ledger.reserve(name, "ann", tokens(250))
        if outcome:
            await ledger.settle(name, outcome=outcome)
    await ledger.reserve("no", "ann", tokens(1))
    found = await ledger.call("audit_why_denied", request_id="no")
    assert [h["request_id"] for h in found["items"]] == ["d", "c", "b", "a"]


async def test_a_lease_counts_until_its_end_and_not_after(ledger, clock):
    await ledger.grant("ann", 1000, on_expiry="release")
    await ledger.reserve("first", "ann", tokens(600), ttl_seconds=10)
    clock.advance(seconds=5)
    await ledger.reserve("no", "ann", tokens(500))
    clock.advance(seconds=6)
    await ledger.reserve("second", "ann", tokens(900))
    clock.advance(seconds=1)
    await ledger.reserve("no2", "ann", tokens(200))
    await ledger.expire()

    assert holds(await ledger.call("audit_why_denied", request_id="no")) == {"first": 600}
    assert holds(await ledger.call("audit_why_denied", request_id="no2")) == {"second": 900}


async def test_a_kept_hold_counts_until_it_is_settled_though_a_lease_beside_it_has_lapsed(
    ledger, clock
):
    """Settled late for its lease on the parent's window, which had lapsed; her own was held."""
    await ledger.grant("org", 10_000, on_expiry="release")
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 100)
    await ledger.reserve("kept", "ann", tokens(80), ttl_seconds=1)
    clock.advance(seconds=2)
    await ledger.reserve("no", "ann", tokens(50))
    clock.advance(seconds=1)
    assert (await ledger.settle("kept", tokens(80)))["late"] is True
    assert holds(await ledger.call("audit_why_denied", request_id="no")) == {"kept": 80}


async def test_a_lease_that_is_settled_late_had_stopped_counting_at_its_end(ledger, clock):
    await ledger.grant("ann", 100, on_expiry="release")
    await ledger.reserve("open", "ann", tokens(80), ttl_seconds=3600)
    clock.advance(seconds=1)
    await ledger.reserve("lapsed", "ann", tokens(20), ttl_seconds=1)
    clock.advance(seconds=2)
    await ledger.reserve("no", "ann", tokens(50))
    clock.advance(seconds=1)
    assert (await ledger.settle("lapsed", tokens(20)))["late"] is True
    assert holds(await ledger.call("audit_why_denied", request_id="no")) == {"open": 80}


async def test_a_hold_that_was_released_and_charged_later_had_stopped_counting(ledger, clock):
    await ledger.grant("ann", 1000)
    await ledger.reserve("open", "ann", tokens(500))
    clock.advance(seconds=1)
    await ledger.reserve("gone", "ann", tokens(400), ttl_seconds=3600)
    await ledger.release("gone")
    clock.advance(seconds=1)
    await ledger.reserve("no", "ann", tokens(600))
    clock.advance(seconds=1)
    assert (await ledger.settle("gone", tokens(10)))["late"] is True
    assert holds(await ledger.call("audit_why_denied", request_id="no")) == {"open": 500}


@pytest.mark.parametrize(("before", "after"), [("z", "a"), ("a", "z")])
async def test_of_one_batch_only_what_was_decided_before_counts(ledger, before, after):
    await ledger.grant("ann", 1000)
    items = [
        {"request_id": name, "account_id": "ann", "amounts": tokens(amount)}
        for name, amount in ((before, 400), ("no", 700), (after, 600))
    ]
    assert [row.status for row in await ledger.many("reserve", items)] == [200, 402, 200]
    assert holds(await ledger.call("audit_why_denied", request_id="no")) == {before: 400}


async def test_charges_of_the_same_batch_count_too(ledger):
    await ledger.grant("ann", 1000)
    items = [
        {"request_id": name, "account_id": "ann", "amounts": tokens(amount)}
        for name, amount in (("z", 400), ("no", 700))
    ]
    await ledger.many("charge", items)
    found = await ledger.call("audit_why_denied", request_id="no")
    assert (holds(found), found["denial"]["reserved"]) == ({"z": 400}, 400)


async def test_a_slot_of_open_holds_had_stopped_counting_at_the_holds_end(ledger, clock):
    """What it is settled for afterwards is not late on any budget of an amount."""
    await ledger.put_account("ann", max_open_holds=2)
    await ledger.grant("ann", 1000)
    await ledger.reserve("b", "ann", tokens(1), ttl_seconds=1000)
    clock.advance(seconds=1)
    await ledger.reserve("a", "ann", tokens(1), ttl_seconds=10)
    clock.advance(seconds=20)
    await ledger.reserve("c", "ann", tokens(1), ttl_seconds=1000)
    clock.advance(seconds=1)
    await ledger.reserve("no", "ann", tokens(1))
    clock.advance(seconds=5)
    await ledger.settle("a", tokens(1))
    found = await ledger.call("audit_why_denied", request_id="no")
    assert holds(found) == {"c": 1, "b": 1}


async def test_a_lease_that_was_kept_as_unknown_counts_until_it_is_released(ledger, clock):
    await ledger.grant("ann", 1000, on_expiry="release")
    await ledger.reserve("a", "ann", tokens(600), ttl_seconds=10)
    clock.advance(seconds=1)
    await ledger.settle("a", outcome="unknown")
    clock.advance(seconds=20)
    await ledger.reserve("no", "ann", tokens(500))
    clock.advance(seconds=1)
    await ledger.release("a")
    clock.advance(seconds=1)
    await ledger.settle("a", tokens(1))
    found = await ledger.call("audit_why_denied", request_id="no")
    assert (holds(found), found["held_by_others"]) == ({"a": 600}, 0)


async def test_a_lease_had_stopped_counting_though_the_budget_makes_none_any_more(ledger, clock):
    await ledger.grant("ann", 1000, on_expiry="release")
    await ledger.reserve("b", "ann", tokens(600), ttl_seconds=1000)
    clock.advance(seconds=1)
    await ledger.reserve("a", "ann", tokens(300), ttl_seconds=10)
    clock.advance(seconds=20)
    await ledger.reserve("no", "ann", tokens(401))
    clock.advance(seconds=1)
    await ledger.settle("a", tokens(1))
    await ledger.grant("ann", 1000, on_expiry="keep")
    found = await ledger.call("audit_why_denied", request_id="no")
    assert (holds(found), found["held_by_others"]) == ({"b": 600}, 0)


async def test_an_accounts_own_denial_names_the_holds_of_those_who_have_all_moved_away(ledger):
    await ledger.grant("org", 1000, name="shared")
    await ledger.put_account("ann", parent_id="org")
    await ledger.reserve("of-ann", "ann", tokens(600))
    await ledger.reserve("own", "org", tokens(300))
    await ledger.reserve("no", "org", tokens(200))
    await ledger.put_account("ann", parent_id=None)
    found = await ledger.call("audit_why_denied", request_id="no")
    assert (holds(found), found["held_by_others"]) == ({"own": 300, "of-ann": 600}, 0)


async def test_the_window_is_of_the_budget_that_was_there_though_a_newer_one_had_its_name(
    ledger, clock
):
    short, long = ({"window": rolling(seconds, 6)} for seconds in (60, 120))
    await ledger.grant("ann", 100, **short)
    await ledger.reserve("mine", "ann", tokens(60), ttl_seconds=1000)
    clock.advance(seconds=1)
    await ledger.call("delete_budget", account_id="ann", name="cap")
    await ledger.grant("ann", 100, **long)
    await ledger.reserve("other", "ann", tokens(100), ttl_seconds=1000)
    clock.advance(seconds=1)
    await ledger.call("delete_budget", account_id="ann", name="cap")
    await ledger.grant("ann", 100, **short)
    clock.advance(seconds=1)
    await ledger.reserve("no", "ann", tokens(50))
    found = await ledger.call("audit_why_denied", request_id="no")
    assert (holds(found), found["held_by_others"]) == ({"mine": 60}, 0)


async def test_more_holds_than_are_wanted_are_summed_as_held_by_others(ledger):
    await ledger.grant("ann", 1000)
    for n in range(10):
        await ledger.reserve(f"r{n}", "ann", tokens(100))
    await ledger.reserve("no", "ann", tokens(1))
    found = await ledger.call("audit_why_denied", request_id="no", max_count=3)
    assert holds(found) == {"r9": 100, "r8": 100, "r7": 100}
    assert (found["items_amount"], found["held_by_others"]) == (300, 700)


async def test_ten_times_as_many_decisions_are_looked_at_as_holds_are_wanted(ledger):
    """So that an answer costs no more than was asked for, however much an account has done since."""
    await ledger.grant("ann", 1000)
    await ledger.reserve("old", "ann", tokens(900))
    for n in range(12):
        await ledger.reserve(f"r{n}", "ann", tokens(1))
        await ledger.settle(f"r{n}", tokens(0))
    await ledger.reserve("no", "ann", tokens(200))
    near = await ledger.call("audit_why_denied", request_id="no", max_count=1)
    assert (holds(near), near["held_by_others"]) == ({}, 900)
    far = await ledger.call("audit_why_denied", request_id="no", max_count=2)
    assert (holds(far), far["held_by_others"]) == ({"old": 900}, 0)


async def test_too_many_holds_names_the_open_ones(ledger):
    await ledger.put_account("ann", max_open_holds=1)
    await ledger.grant("ann", 1000)
    await ledger.reserve("open", "ann", tokens(1))
    await ledger.reserve("no", "ann", tokens(1))
    found = await ledger.call("audit_why_denied", request_id="no")
    assert (found["denial"]["reason"], holds(found)) == ("too_many_holds", {"open": 1})


async def test_a_denial_that_is_no_windows_has_no_window_and_no_holds(ledger):
    await ledger.put_account("ann")
    await ledger.reserve("no", "ann", tokens(1))
    found = await ledger.call("audit_why_denied", request_id="no")
    assert found["denial"]["reason"] == "no_budget"
    assert (found["window"], found["items"], found["held_by_others"]) == (None, [], None)


async def test_what_was_not_denied_or_is_not_known_is_refused(ledger):
    await ledger.grant("ann", 1000)
    await ledger.reserve("yes", "ann", tokens(1))
    assert_problem(await ledger.call("audit_why_denied", request_id="yes"), 409, "not_denied")
    assert_problem(
        await ledger.call("audit_why_denied", request_id="x"), 404, "reservation_unknown"
    )
    assert_problem(await ledger.call("audit_why_denied"), 400, "malformed")
    assert_problem(
        await ledger.call("audit_why_denied", request_id="x", max_count=0), 400, "malformed"
    )


@pytest.mark.parametrize("seed", range(5))
async def test_the_open_holds_always_add_up_to_what_was_reserved(ledger, seed):
    """A random life of two accounts below one, leases among them; every denial is then asked about."""
    dice = random.Random(seed)
    await ledger.grant("org", 3000, name="shared", on_expiry=dice.choice(["keep", "release"]))
    for name in ("ann", "bob"):
        await ledger.put_account(name, parent_id="org")
        await ledger.grant(name, 2000, on_expiry="release")
    opened, denied = [], []
    for n in range(150):
        step = dice.random()
        if step < 0.6 or not opened:
            reply = await ledger.reserve(
                f"r{n}", dice.choice(["ann", "bob"]), tokens(dice.randint(1, 600)), ttl_seconds=1
            )
            (opened if reply["decision"] == "authorized" else denied).append(f"r{n}")
        elif step < 0.75:
            await ledger.settle(
                opened.pop(dice.randrange(len(opened))), tokens(dice.randint(0, 20))
            )
        elif step < 0.9:
            await ledger.release(opened.pop(dice.randrange(len(opened))))
        elif step < 0.95:
            await ledger.settle(dice.choice(opened), outcome="unknown")
        else:
            await ledger.expire()
    assert denied
    for request_id in denied:
        found = await ledger.call("audit_why_denied", request_id=request_id, max_count=500)
        assert found["held_by_others"] == 0, (request_id, found)
