"""Row 16: a hold's time passes."""

import asyncio

import asyncpg
import pytest

from tests.support.money import DAY, tokens
from tests.support.session import Figures


async def hold(ledger, on_expiry, **more):
    await ledger.grant("ann", on_expiry=on_expiry, **more)
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)


async def test_keep_leaves_the_hold_and_reports_it_as_unknown(ledger, clock):
    await hold(ledger, "keep")
    clock.advance(seconds=5)
    assert await ledger.expire() == 1
    assert (await ledger.reservation("r1"))["state"] == "unknown"
    assert await ledger.figures("ann") == Figures(0, 400, 600)
    assert await ledger.expire() == 0


async def test_keep_is_what_happens_unless_the_budget_says_otherwise(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=5)
    await ledger.expire()
    assert await ledger.figures("ann") == Figures(0, 400, 600)


async def test_release_gives_the_hold_back(ledger, clock):
    await hold(ledger, "release")
    clock.advance(seconds=5)
    assert await ledger.expire() == 1
    assert (await ledger.reservation("r1"))["state"] == "lapsed"
    assert await ledger.figures("ann") == Figures(0, 0, 1000)


async def test_charge_spends_the_hold(ledger, clock):
    await hold(ledger, "charge")
    clock.advance(seconds=5)
    assert await ledger.expire() == 1
    assert (await ledger.reservation("r1"))["state"] == "settled"
    assert await ledger.figures("ann") == Figures(400, 0, 600)
    assert await ledger.expire() == 0


async def test_a_settlement_sent_again_after_the_hold_would_have_been_charged_is_a_replay(
    ledger, clock
):
    await hold(ledger, "charge")
    await ledger.settle("r1", tokens(100))
    clock.advance(seconds=6)
    assert (await ledger.settle("r1", tokens(100)))["replayed"]
    assert await ledger.count("usage_event") == 1
    assert (await ledger.figures("ann")).settled == 100


@pytest.mark.parametrize("on_expiry", ["keep", "release", "charge"])
async def test_nothing_is_due_one_instant_before_its_time(ledger, clock, on_expiry):
    await hold(ledger, on_expiry)
    clock.advance(seconds=4, microseconds=999_999)
    assert await ledger.expire() == 0
    assert (await ledger.reservation("r1"))["state"] == "authorized"


async def test_a_lease_stops_counting_at_the_instant_with_no_worker_running(ledger, clock):
    await hold(ledger, "release")
    clock.advance(seconds=4, microseconds=999_999)
    assert (await ledger.window("ann"))["reserved"] == 400
    assert (await ledger.reserve("r2", "ann", tokens(601)))["decision"] == "denied"
    clock.advance(microseconds=1)
    assert (await ledger.window("ann"))["reserved"] == 0
    assert (await ledger.reserve("r3", "ann", tokens(1000)))["decision"] == "authorized"


async def test_a_lapsed_lease_reads_as_lapsed_before_any_sweep(ledger, clock):
    await hold(ledger, "release")
    clock.advance(seconds=5)
    assert (await ledger.reservation("r1"))["state"] == "lapsed"


async def test_a_charge_that_needs_the_room_takes_it_from_a_lapsed_lease(ledger, clock):
    await hold(ledger, "release")
    clock.advance(seconds=5)
    assert (await ledger.charge("c1", "ann", tokens(1000)))["decision"] == "authorized"
    assert await ledger.figures("ann") == Figures(1000, 0, 0)
    await ledger.expire()
    assert await ledger.figures("ann") == Figures(1000, 0, 0)


async def test_settled_and_released_holds_are_never_due(ledger, clock):
    await hold(ledger, "release")
    await ledger.reserve("r2", "ann", tokens(1), ttl_seconds=5)
    await ledger.settle("r1", tokens(1))
    await ledger.release("r2")
    clock.advance(seconds=500)
    assert await ledger.expire() == 0


async def test_it_expires_at_most_so_many_and_is_called_again_for_the_rest(ledger, clock):
    await ledger.grant("ann", on_expiry="release")
    for n in range(7):
        await ledger.reserve(f"r{n}", "ann", tokens(1), ttl_seconds=5)
    clock.advance(seconds=5)
    assert [await ledger.expire(3) for _ in range(4)] == [3, 3, 1, 0]
    assert await ledger.figures("ann") == Figures(0, 0, 1000)


async def test_any_number_of_sweepers_expire_each_hold_once(ledger, clock):
    await ledger.grant("org", 9000, on_expiry="release")
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", on_expiry="release")
    for n in range(40):
        await ledger.reserve(f"r{n}", "ann", tokens(10), ttl_seconds=5)
    clock.advance(seconds=5)
    sessions = await ledger.sessions(8)
    counts = await asyncio.gather(*(s.call("expire_due", max_count=100) for s in sessions))
    while more := await ledger.expire():
        counts.append(more)
    assert sum(counts) == 40
    assert await ledger.figures("ann") == Figures(0, 0, 1000)
    assert await ledger.figures("org") == Figures(0, 0, 9000)


async def test_a_lease_of_yesterdays_window_is_given_back_there(ledger, clock):
    await hold(ledger, "release", window=DAY)
    clock.advance(days=1)
    await ledger.reserve("r2", "ann", tokens(100))
    assert await ledger.expire() == 1
    assert await ledger.figures("ann") == Figures(0, 100, 900)


async def test_leases_lapse_on_their_budgets_while_others_keep(ledger, clock):
    await ledger.grant("ann", name="lease", on_expiry="release")
    await ledger.grant("ann", name="kept", on_expiry="keep")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=5)
    await ledger.expire()
    assert (await ledger.window("ann", "lease"))["reserved"] == 0
    assert (await ledger.window("ann", "kept"))["reserved"] == 400


async def test_the_timeline_tells_what_time_did(ledger, clock):
    await hold(ledger, "release")
    clock.advance(seconds=5)
    await ledger.expire()
    assert len((await ledger.reservation("r1"))["timeline"]) == 2


async def test_a_kept_hold_is_unknown_before_any_sweep_and_can_be_released(ledger, clock):
    await hold(ledger, "keep")
    clock.advance(seconds=5)
    assert (await ledger.reservation("r1"))["state"] == "unknown"
    assert (await ledger.release("r1"))["state"] == "released"
    assert (await ledger.window("ann"))["reserved"] == 0


@pytest.mark.parametrize("function", ["expire_due", "apply_due"])
async def test_fewer_than_none_are_misuse(ledger, clock, function):
    with pytest.raises(asyncpg.PostgresError) as caught:
        await ledger.call(function, max_count=-1)
    assert caught.value.sqlstate == "PA001"
    assert await ledger.call(function, max_count=0) == 0


@pytest.mark.parametrize("swept", [True, False])
async def test_usage_of_the_whole_hold_after_time_has_charged_it_is_that_charge(
    ledger, clock, swept
):
    await ledger.grant("ann", on_expiry="charge")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=5)
    if swept:
        await ledger.expire()
    reply = await ledger.settle("r1", tokens(400))
    assert (reply["outcome"], reply["replayed"]) == ("expired", True)
    assert await ledger.figures("ann") == Figures(400, 0, 600)
