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
