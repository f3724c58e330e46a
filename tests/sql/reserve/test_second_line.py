"""Should a decision ever go wrong, the update that holds refuses what does not fit."""

import asyncpg
import pytest

from tests.support.money import budget, tokens

ARGUMENTS = "select pg_get_function_arguments('preauth._first_shortage'::regproc)"


@pytest.fixture
async def deluded(ledger):
    """A ledger whose decisions find no shortage anywhere."""
    await ledger.grant("ann", limit=1000)
    await ledger.put_budget("ann", "wide", budget(limit=1_000_000))
    arguments = await ledger.connection.fetchval(ARGUMENTS)
    await ledger.connection.execute(
        f"create or replace function preauth._first_shortage({arguments}) returns integer "
        "language sql as 'select null::integer'"
    )
    return ledger


async def test_what_does_not_fit_is_not_held_whatever_was_decided(deluded):
    before = await deluded.contents()
    with pytest.raises(asyncpg.PostgresError) as caught:
        await deluded.reserve("r", "ann", tokens(1001))
    assert caught.value.sqlstate == "PA002"
    assert await deluded.contents() == before


async def test_nor_is_a_batch_that_fits_item_by_item_only(deluded):
    before = await deluded.contents()
    items = [{"request_id": f"r{n}", "account_id": "ann", "amounts": tokens(400)} for n in range(3)]
    with pytest.raises(asyncpg.PostgresError) as caught:
        await deluded.many("reserve", items)
    assert caught.value.sqlstate == "PA002"
    assert await deluded.contents() == before


async def test_what_fits_is_held_to_the_last_unit(deluded):
    await deluded.reserve("r", "ann", tokens(1000))
    assert (await deluded.figures("ann")).available == 0


async def test_a_window_that_cannot_be_made_is_a_fault_and_no_authorization(ledger):
    """However often a reserve looks again: an answer without the window would hold nothing."""
    await ledger.grant("ann", limit=1000)
    await ledger.connection.execute(
        "create or replace function preauth._open_windows(account_ids text[], models text[], at timestamptz)"
        " returns bigint[] language sql as 'select array[]::bigint[]'"
    )
    before = await ledger.contents()
    with pytest.raises(asyncpg.PostgresError) as caught:
        await ledger.reserve("r", "ann", tokens(1))
    assert caught.value.sqlstate == "PA002"
    assert await ledger.contents() == before
