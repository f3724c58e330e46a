"""``verify()`` finds every kind of tampering, and nothing where nothing was tampered with."""

import pytest

from tests.support.money import DAY, LIFETIME, rolling, tokens
from tests.support.prices import publish, spend


@pytest.fixture
async def rich(ledger, clock):
    """A ledger in which everything has happened: held, settled, late, released, lapsed, denied."""
    await ledger.grant("org", 10_000, window=LIFETIME, on_expiry="release")
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 1000, window=DAY, on_expiry="release")
    await ledger.grant("ann", 1000, "kept", window=DAY, thresholds=[1])
    await ledger.put_account("bob", parent_id="org", max_open_holds=5)
    await ledger.grant("bob", 1000, on_expiry="release")
    for name, ending in (("settled", tokens(30)), ("over", tokens(70)), ("open", None)):
        await ledger.reserve(name, "ann", tokens(50))
        if ending:
            await ledger.settle(name, ending)
    await ledger.reserve("released", "ann", tokens(50))
    await ledger.release("released")
    await ledger.reserve("late", "bob", tokens(50))
    await ledger.release("late")
    await ledger.settle("late", tokens(20))
    await ledger.reserve("lapsed", "bob", tokens(50), ttl_seconds=1)
    await ledger.reserve("lapsing", "bob", tokens(50), ttl_seconds=2)
    clock.advance(seconds=1)
    await ledger.expire()
    clock.advance(seconds=5)
    await ledger.charge("charged", "ann", tokens(60))
    await ledger.charge("recorded", "ann", tokens(5000), record=True)
    await ledger.reserve("denied", "ann", tokens(5000))
    await ledger.put_account("rob")
    await ledger.grant("rob", 100, "trailing", window=rolling(60, 6), thresholds=[50, 90])
    await ledger.charge("first", "rob", tokens(60))
    clock.advance(seconds=10)
    await ledger.charge("second", "rob", tokens(10))
    await ledger.grant("org", 20_000, window=LIFETIME, on_expiry="release")
    await ledger.reserve("unknown", "bob", tokens(5))
    await ledger.settle("unknown", outcome="unknown")
    await ledger.grant("carl", 10**9, unit="usd_nano")
    await publish(ledger)
    await spend(ledger, "priced", "carl", {"input_tokens": 2, "output_tokens": 5})
    return ledger


async def mismatches(ledger):
    return await ledger.connection.fetch("select * from preauth_api.verify()")


async def test_where_nothing_was_tampered_with_nothing_is_found(rich):
    assert await mismatches(rich) == []
    assert {"held", "settled", "released", "lapsed"} == {
        row[0]
        for row in await rich.connection.fetch("select distinct state from preauth.hold_line")
    }


LINE = "request_id = '{}' and position = (select min(position) from preauth.hold_line where request_id = '{}')"

TAMPERINGS = {
    "reserved is higher than what is held": "update preauth.budget_window set reserved = reserved + 1 where account_id = 'ann'",
    "reserved is lower than what is held": "update preauth.budget_window set reserved = reserved - 1 where account_id = 'bob'",
    "settled is higher than what was spent": "update preauth.budget_window set settled = settled + 1 where account_id = 'org'",
    "settled is lower than what was spent": "update preauth.budget_window set settled = settled - 1 where account_id = 'ann'",
    "a limit was raised without a trace": "update preauth.budget_window set limit_amount = limit_amount + 1 where account_id = 'bob'",
    "a limit was lifted without a trace": "update preauth.budget_window set limit_amount = null where account_id = 'ann'",
    "a held amount was changed": f"update preauth.hold_line set amount = amount + 1 where {LINE.format('open', 'open')}",
    "a settled amount was changed": f"update preauth.hold_line set settled_amount = 29 where {LINE.format('settled', 'settled')}",
    "a settled line was moved to another window": "update preauth.hold_line set window_id = (select min(window_id) from preauth.budget_window where account_id = 'bob')"
    f" where {LINE.format('settled', 'settled')}",
    "a line is not of its reservation's instant": f"update preauth.hold_line set created_at = created_at + interval '1 microsecond' where {LINE.format('open', 'open')}",
    "a held line was lost": f"delete from preauth.hold_line where {LINE.format('open', 'open')}",
    "a settled line was lost": f"delete from preauth.hold_line where {LINE.format('settled', 'settled')}",
    "a line was released though its reservation is open": f"update preauth.hold_line set state = 'released', lapses_at = null where {LINE.format('open', 'open')}",
    "a window was lost": "delete from preauth.budget_window where account_id = 'org'",
    "a reservation was lost": "delete from preauth.reservation where request_id = 'open'",
    "a settled reservation is open again": "update preauth.reservation set state = 'authorized' where request_id = 'settled'",
    "an open reservation is released, its lines held": "update preauth.reservation set state = 'released' where request_id = 'open'",
    "a settlement's event was lost": "delete from preauth.usage_event where request_id = 'settled'",
    "a charge's event was lost": "delete from preauth.usage_event where request_id = 'charged'",
    "a late charge's event was lost": "delete from preauth.usage_event where request_id = 'late'",
    "an event's amount was changed": """update preauth.usage_event set amounts = '{"tokens": 31}' where request_id = 'settled'""",
    "spend was recorded twice": "insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor)"
    " select account_id, request_id, kind, amounts, outcome, occurred_at, actor from preauth.usage_event where request_id = 'settled'",
    "spend was recorded for a denied request": "insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor)"
    " select account_id, 'denied', kind, amounts, outcome, occurred_at, actor from preauth.usage_event where request_id = 'settled'",
    "a limit change's event was lost": "delete from preauth.usage_event where kind = 'limit_changed'",
    "a slice counts more than was spent in it": "update preauth.window_slice set settled = settled + 1 where settled = 10",
    "a slice was lost": "delete from preauth.window_slice where settled = 60",
    "a slice ages out at another instant": "update preauth.window_slice set ages_at = ages_at + interval '10 seconds' where settled = 10",
    "a slice and its window count too little": "with s as (update preauth.window_slice set settled = 59 where settled = 60 returning window_id)"
    " update preauth.budget_window w set settled = settled - 1 from s where w.window_id = s.window_id",
    "a rolling window counts more than its slices": "update preauth.budget_window set settled = settled + 1 where account_id = 'rob'",
    "a message about a threshold was lost": "delete from preauth.outbox where threshold = 1",
    "the next threshold will not be noticed": "update preauth.budget_window set alert_at = null where account_id = 'rob'",
    "the next threshold will be noticed too late": "update preauth.budget_window set alert_at = alert_at + 1 where account_id = 'rob'",
    "an account hangs elsewhere than its path says": "update preauth.account set parent_id = 'bob', path = array['ann', 'bob'] where account_id = 'ann'",
    "an account's path leads elsewhere": "update preauth.account set path = array['ann', 'org', 'nowhere'] where account_id = 'ann'",
    "a cost was moved from one dimension to another": """update preauth.usage_event set cost = '{"usd_nano": {"input_tokens": 75000, "output_tokens": 6000}}' where request_id = 'priced'""",
    "a usage was changed": """update preauth.usage_event set usage = '{"input_tokens": 7, "output_tokens": 4}' where request_id = 'priced'""",
    "a published rate was changed": "update preauth.price_table set rates[1][1] = rates[1][1] + 1",
    "a published table was lost": "delete from preauth.price_table",
    "two windows of a budget overlap": "insert into preauth.budget_window overriding system value"
    " select (jsonb_populate_record(w, jsonb_build_object('window_id', 999999, 'ordinal', 99, 'starts_at', w.starts_at + interval '1 hour', 'settled', 0, 'reserved', 0))).*"
    " from preauth.budget_window w where account_id = 'ann' limit 1",
    "a kept route leaves a budget out": "update preauth.route set units = '{}', window_ids = '{}', hard = '{}', models = '{}', budgets = '{}', expiries = '{}' where account_id = 'carl'",
    "a window is overdrawn though its budget is not": "update preauth.budget_window set overdraft_amount = overdraft_amount + 1 where account_id = 'bob'",
}  # fmt: skip
FOUND_BY = {
    "reserved is higher than what is held": "window_reserved_is_sum_of_held_lines",
    "reserved is lower than what is held": "window_reserved_is_sum_of_held_lines",
    "settled is higher than what was spent": "window_settled_is_sum_of_settled_lines_and_adjustments",
    "settled is lower than what was spent": "window_settled_is_sum_of_settled_lines_and_adjustments",
    "a limit was raised without a trace": "window_limit_is_the_initial_one_or_the_last_change",
    "a limit was lifted without a trace": "window_limit_is_the_initial_one_or_the_last_change",
    "a held amount was changed": "window_reserved_is_sum_of_held_lines",
    "a settled amount was changed": "line_settled_what_its_event_says",
    "a settled line was moved to another window": "window_settled_is_sum_of_settled_lines_and_adjustments",
    "a held line was lost": "window_reserved_is_sum_of_held_lines",
    "a settled line was lost": "window_settled_is_sum_of_settled_lines_and_adjustments",
    "a line was released though its reservation is open": "line_states_agree_with_reservation",
    "a window was lost": "line_has_reservation_and_window",
    "a line is not of its reservation's instant": "line_has_reservation_and_window",
    "a reservation was lost": "line_has_reservation_and_window",
    "a settled reservation is open again": "settled_exactly_once",
    "an open reservation is released, its lines held": "line_states_agree_with_reservation",
    "a settlement's event was lost": "settled_exactly_once",
    "a charge's event was lost": "settled_exactly_once",
    "a late charge's event was lost": "settled_exactly_once",
    "an event's amount was changed": "settlement_is_what_its_event_says",
    "spend was recorded twice": "settled_exactly_once",
    "spend was recorded for a denied request": "settled_exactly_once",
    "a limit change's event was lost": "window_limit_is_the_initial_one_or_the_last_change",
    "a slice counts more than was spent in it": "slice_is_what_was_spent_in_it",
    "a slice was lost": "slice_is_what_was_spent_in_it",
    "a slice ages out at another instant": "slice_is_what_was_spent_in_it",
    "a slice and its window count too little": "slice_is_what_was_spent_in_it",
    "a rolling window counts more than its slices": "rolling_window_settled_is_sum_of_its_slices",
    "a message about a threshold was lost": "threshold_reached_is_told",
    "the next threshold will not be noticed": "next_alert_is_at_the_lowest_threshold_not_told",
    "the next threshold will be noticed too late": "next_alert_is_at_the_lowest_threshold_not_told",
    "an account hangs elsewhere than its path says": "account_path_is_its_parents_plus_itself",
    "an account's path leads elsewhere": "account_path_is_its_parents_plus_itself",
    "a cost was moved from one dimension to another": "cost_is_what_its_price_table_says",
    "a usage was changed": "cost_is_what_its_price_table_says",
    "a published rate was changed": "cost_is_what_its_price_table_says",
    "a published table was lost": "cost_is_what_its_price_table_says",
    "two windows of a budget overlap": "windows_of_a_budget_do_not_overlap",
    "a kept route leaves a budget out": "route_is_as_worked_out_now",
    "a window is overdrawn though its budget is not": "window_overdraft_is_its_budgets",
}
"""Of the checks that notice, the one that is there for it."""


@pytest.mark.parametrize("why", TAMPERINGS)
async def test_it_finds_that(rich, why):
    transaction = rich.connection.transaction()
    await transaction.start()
    done = await rich.connection.execute(TAMPERINGS[why])
    assert not done.endswith(" 0"), done
    found = await mismatches(rich)
    await transaction.rollback()
    assert FOUND_BY[why] in {row["check_name"] for row in found}
    assert all(row["check_name"] and row["expected"] != row["actual"] for row in found)
    assert await mismatches(rich) == []


async def test_a_hard_window_that_let_in_too_much_is_found_though_all_sums_agree(rich):
    """What an over-admitting reserve would leave behind: consistent rows, one hold too many."""
    transaction = rich.connection.transaction()
    await transaction.start()
    await rich.reserve("last", "bob", tokens(900))
    line = "request_id = 'last' and window_id in (select window_id from preauth.budget_window where account_id = 'bob' and settled > 0)"
    await rich.connection.execute(
        f"update preauth.hold_line set amount = amount + 500 where {line}"
    )
    await rich.connection.execute(
        "update preauth.budget_window set reserved = reserved + 500 where account_id = 'bob' and settled > 0"
    )
    names = {row["check_name"] for row in await mismatches(rich)}
    await transaction.rollback()
    assert "hard_window_admitted_within_limit" in names


async def test_a_rolling_window_that_let_in_too_much_within_one_period_is_found(rich):
    """Consistent rows: one charge too many, in a slice beside another's."""
    transaction = rich.connection.transaction()
    await transaction.start()
    await rich.connection.execute(
        "update preauth.budget_window set limit_amount = 69, initial_limit_amount = 69 where account_id = 'rob'"
    )
    names = {row["check_name"] for row in await mismatches(rich)}
    await transaction.rollback()
    assert "hard_rolling_window_admitted_within_limit" in names


async def test_what_was_let_in_over_more_than_one_period_is_no_fault(ledger, clock):
    await ledger.grant("ann", 100, window=rolling(60, 6))
    for n in range(5):
        await ledger.charge(f"c{n}", "ann", tokens(100))
        clock.advance(seconds=70)
    assert await mismatches(ledger) == []
