"""A line's state is the guard of its money, whatever a call has concluded from the reservation's."""

from itertools import product

STATES = ("held", "settled", "released", "lapsed")
CLOSABLE = {
    ("held", "settled"),
    ("held", "released"),
    ("held", "lapsed"),
    ("released", "settled"),
    ("lapsed", "settled"),
}


async def test_only_what_is_open_or_was_given_back_may_be_closed(ledger):
    found = {
        (state, following)
        for state, following in product(STATES, STATES[1:])
        if await ledger.connection.fetchval("select preauth._may_close($1, $2)", state, following)
    }
    assert found == CLOSABLE


async def test_a_settled_line_stays_as_it_is_when_its_reservation_is_said_to_be_open(ledger):
    await ledger.grant("ann", limit=1000)
    await ledger.reserve("r", "ann", {"tokens": 100})
    await ledger.settle("r", {"tokens": 60})
    before = await ledger.contents("hold_line", "budget_window")
    transaction = ledger.connection.transaction()
    await transaction.start()
    await ledger.connection.execute(
        "update preauth.reservation set state = 'authorized', closure = null"
    )
    await ledger.settle("r", {"tokens": 70})
    assert await ledger.contents("hold_line", "budget_window") == before
    await transaction.rollback()


async def test_a_line_does_not_lapse_before_its_time_whoever_says_so(ledger, clock):
    await ledger.grant("ann", limit=1000, on_expiry="release")
    await ledger.reserve("r", "ann", {"tokens": 100}, ttl_seconds=5)
    lapse = """
        select preauth._close_lines(array(
          select row(l.created_at, l.request_id, l.account_id, l.position, l.window_id, 'lapsed', null)::preauth._closing
          from preauth.hold_line as l), preauth._now())"""
    clock.advance(seconds=4, microseconds=999_999)
    await ledger.connection.execute(lapse)
    assert await ledger.count("hold_line", "state = 'held'") == 1
    clock.advance(microseconds=1)
    await ledger.connection.execute(lapse)
    assert await ledger.count("hold_line", "state = 'lapsed'") == 1
    await ledger.expire()
