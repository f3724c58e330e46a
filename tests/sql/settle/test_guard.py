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
