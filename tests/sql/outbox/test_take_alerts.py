"""What is taken from the outbox, and how it must be asked for."""

import asyncpg
import pytest

from tests.support.money import tokens


@pytest.mark.parametrize(
    "asked", [{"max_count": -1}, {"retry_seconds": 0}, {"retry_seconds": 3601}], ids=str
)
async def test_a_question_that_makes_no_sense_is_misuse_and_takes_nothing(ledger, clock, asked):
    await ledger.grant("ann", thresholds=[50])
    await ledger.charge("c1", "ann", tokens(500))
    before = await ledger.contents("outbox")
    with pytest.raises(asyncpg.PostgresError) as caught:
        await ledger.call("take_alerts", **asked)
    assert caught.value.sqlstate == "PA001"
    assert await ledger.contents("outbox") == before


async def taken(ledger):
    rows = await ledger.connection.fetch("select * from preauth_api.take_alerts(20, 15)")
    return [(row["message_id"], row["attempts"]) for row in rows]


async def test_what_is_not_confirmed_is_due_again_after_a_pause_that_doubles(ledger, clock):
    await ledger.grant("ann", thresholds=[50])
    await ledger.charge("c1", "ann", tokens(500))
    ((message, attempts),) = await taken(ledger)
    assert attempts == 1
    for attempt, pause in ((2, 15), (3, 30), (4, 60)):
        clock.advance(seconds=pause - 1)
        assert await taken(ledger) == []
        clock.advance(seconds=1)
        assert await taken(ledger) == [(message, attempt)]
    assert await ledger.call("confirm_alerts", message_ids=[message]) == 1
    clock.advance(days=1)
    assert await taken(ledger) == []
    assert await ledger.call("confirm_alerts", message_ids=[message]) == 0
