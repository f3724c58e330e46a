"""Row 26: one of those who race for a hold moves the money; the others report its result."""

import asyncio

import pytest

from tests.support.money import tokens
from tests.support.session import Figures
from tests.support.waits import until

ROUNDS = 12


async def holds(ledger, on_expiry="release", limit=10**6):
    await ledger.grant("org", limit, on_expiry=on_expiry)
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", limit, on_expiry=on_expiry)
    for n in range(ROUNDS):
        await ledger.reserve(f"r{n}", "ann", tokens(400), ttl_seconds=5)


async def sweep(session):
    return await session.call("expire_due", max_count=100)


async def test_fifty_equal_settlements_move_the_money_once(ledger):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    replies = await ledger.race([lambda s: s.settle("r1", tokens(150))] * 50)
    assert len({str({**r, "replayed": None}) for r in replies}) == 1
    assert [r["replayed"] for r in replies].count(False) == 1
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_of_fifty_other_settlements_one_moves_the_money(ledger):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    replies = await ledger.race([lambda s, n=n: s.settle("r1", tokens(n)) for n in range(50)])
    (winner,) = [r for r in replies if r.get("state") == "settled"]
    assert (await ledger.figures("ann")).settled == winner["amounts"]["tokens"]
    assert sum(r.get("status") == 409 for r in replies) == 49


async def test_a_settlement_that_waited_for_a_cancellation_settles_what_that_left(ledger):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    cancelling, settling = await ledger.sessions(2)
    transaction = cancelling.connection.transaction()
    await transaction.start()
    await cancelling.call("cancel", request_id="r1")
    settled = asyncio.create_task(settling.settle("r1", tokens(150)))
    await until(lambda: ledger.waits(settling), "the settlement waits for the reservation")
    await transaction.commit()
    assert (await settled)["state"] == "settled"
    assert (await ledger.reservation("r1"))["state"] == "settled"
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_what_was_reserved_while_a_batch_waited_for_others_is_settled_once(ledger):
    """Whether or not it is there for who did not lock it: of two batches only one may move it."""
    await ledger.grant("ann")
    await ledger.grant("bob")
    for n in (1, 2):
        await ledger.reserve(f"r{n}", "ann", tokens(10))
    holding, blocking, *settling = await ledger.sessions(4)
    hold, block = holding.connection.transaction(), blocking.connection.transaction()
    await hold.start()
    await holding.connection.execute("select from preauth.reservation for update")
    batches = [
        [
            {"request_id": "late", "account_id": "bob", "amounts": tokens(5)},
            {"request_id": f"r{n}", "account_id": "ann", "amounts": tokens(5)},
        ]
        for n in (1, 2)
    ]
    settled = [
        asyncio.create_task(session.many("settle", batch))
        for session, batch in zip(settling, batches, strict=True)
    ]
    for session in settling:
        await until(lambda s=session: ledger.waits(s), "the batch waits for its reservation")
    await ledger.reserve("late", "bob", tokens(10))
    await block.start()
    await blocking.connection.execute("select from preauth.budget_window for update")
    await hold.rollback()
    await asyncio.sleep(0.2)
    await block.rollback()
    for task in settled:
        late, other = await task
        assert (late.status, other.status) in {(200, 200), (404, 200)}
    events = await ledger.count("usage_event", "request_id = 'late'")
    assert events == ((await ledger.figures("bob")).settled == 5)


async def test_fifty_equal_releases_return_the_hold_once(ledger):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    await ledger.reserve("r2", "ann", tokens(400))
    replies = await ledger.race([lambda s: s.release("r1")] * 50)
    assert [r["replayed"] for r in replies].count(False) == 1
    assert await ledger.figures("ann") == Figures(0, 400, 600)


async def test_settle_against_release_ends_in_one_order_or_the_other(ledger):
    await holds(ledger)
    sessions = await ledger.sessions(2)
    for n in range(ROUNDS):
        settled, released = await asyncio.gather(
            sessions[0].settle(f"r{n}", tokens(150)), sessions[1].release(f"r{n}")
        )
        assert settled["state"] == "settled"  # after a release it is a late charge
        assert settled["late"] is (released.get("state") == "released")
    assert await ledger.figures("ann") == Figures(150 * ROUNDS, 0, 10**6 - 150 * ROUNDS)
    assert await ledger.figures("org") == Figures(150 * ROUNDS, 0, 10**6 - 150 * ROUNDS)


@pytest.mark.parametrize("on_expiry", ["release", "keep", "charge"])
async def test_sweep_against_settle_against_release_on_lapsed_holds(ledger, clock, on_expiry):
    await holds(ledger, on_expiry)
    clock.advance(seconds=5)
    sessions = await ledger.sessions(4)
    outcomes = []
    for n in range(ROUNDS):
        swept, settled, released, again = await asyncio.gather(
            sweep(sessions[0]),
            sessions[1].settle(f"r{n}", tokens(150)),
            sessions[2].release(f"r{n}"),
            sessions[3].settle(f"r{n}", tokens(150)),
        )
        outcomes.append((swept, settled, released, again))
    while await ledger.expire():
        pass
    spent = sum([await spent_by(ledger, f"r{n}") for n in range(ROUNDS)])
    for account in ("ann", "org"):
        figures = await ledger.figures(account)
        assert (figures.settled, figures.reserved) == (spent, 0), outcomes


async def spent_by(ledger, request_id):
    """What one reservation has settled on its own account's window, from its record."""
    reservation = await ledger.reservation(request_id)
    assert reservation["state"] in {"settled", "lapsed", "released"}, reservation
    return reservation["lines"][0]["settled"] or 0


async def test_settle_against_extend_against_lapse(ledger, clock):
    await holds(ledger)
    clock.advance(seconds=4.5)
    sessions = await ledger.sessions(3)

    async def lapse():
        clock.advance(milliseconds=1)
        return await sweep(sessions[0])

    for n in range(ROUNDS):
        clock.set(
            await ledger.connection.fetchval(
                "select expires_at from preauth.reservation where request_id = $1", f"r{n}"
            )
        )
        _, extended, settled = await asyncio.gather(
            lapse(),
            sessions[1].call("extend", request_id=f"r{n}", ttl_seconds=60),
            sessions[2].settle(f"r{n}", tokens(150)),
        )
        assert settled["state"] == "settled"
        assert extended.get("status", 409) == 409
    await ledger.expire()
    figures = await ledger.figures("ann")
    assert (figures.settled, figures.reserved) == (150 * ROUNDS, 0)


async def test_a_settlement_lands_while_others_reserve_the_room_it_frees(ledger):
    await ledger.grant("ann", 1000)
    await ledger.reserve("r0", "ann", tokens(1000))
    replies = await ledger.race(
        [lambda s: s.settle("r0", tokens(100))]
        + [lambda s, n=n: s.reserve(f"r{n}", "ann", tokens(100)) for n in range(1, 50)]
    )
    held = sum(r.get("decision") == "authorized" for r in replies)
    assert await ledger.figures("ann") == Figures(100, 100 * held, 900 - 100 * held)


async def test_a_limit_lowered_while_others_reserve_is_never_overrun_afterwards(ledger):
    await ledger.grant("ann", 5000)

    async def lower(session):
        return await session.put_budget(
            "ann", "cap", {"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 1000}
        )

    replies = await ledger.race(
        [lambda s, n=n: s.reserve(f"r{n}", "ann", tokens(100)) for n in range(25)]
        + [lower]
        + [lambda s, n=n: s.reserve(f"r{n}", "ann", tokens(100)) for n in range(25, 50)]
    )
    held = sum(r.get("decision") == "authorized" for r in replies)
    assert await ledger.figures("ann") == Figures(0, 100 * held, 1000 - 100 * held)
    assert (await ledger.reserve("after", "ann", tokens(1001)))["decision"] == "denied"


async def test_giving_back_leases_waits_for_nobody_who_is_keeping_one(ledger, clock):
    await ledger.grant("ann", 2, on_expiry="release")
    await ledger.reserve("kept", "ann", tokens(1), ttl_seconds=1)
    await ledger.reserve("lapsed", "ann", tokens(1), ttl_seconds=1)
    keeping, reserving = await ledger.sessions(2)
    keep = keeping.connection.transaction()
    await keep.start()
    await keeping.call("settle", request_id="kept", outcome="unknown")
    clock.advance(seconds=2)
    await reserving.connection.execute("set statement_timeout = '3s'")
    reply = await reserving.reserve("next", "ann", tokens(1))
    assert reply["decision"] == "authorized"
    await keep.commit()
    assert (await ledger.reservation("kept"))["state"] == "unknown"


async def test_what_lapsed_of_a_hold_is_given_back_while_someone_keeps_the_rest(ledger, clock):
    await ledger.grant("org", 5000, on_expiry="keep")
    await ledger.put_account("ann", parent_id="org")
    await ledger.grant("ann", 1000, on_expiry="release")
    await ledger.reserve("kept", "ann", tokens(400), ttl_seconds=5)
    clock.advance(seconds=5)
    keeping, reserving = await ledger.sessions(2)
    async with keeping.connection.transaction():
        reply = await keeping.settle("kept", outcome="unknown")
        assert reply["state"] == "unknown"
        waiting = asyncio.create_task(reserving.reserve("next", "ann", tokens(900)))
        await until(lambda: ledger.waits(reserving), "the decision waits for the window")
    reply = await waiting
    assert reply["decision"] == "authorized"
    assert reply["lines"][0]["available"] == 100
    assert await ledger.figures("org") == Figures(0, 1300, 3700)
    assert await ledger.figures("ann") == Figures(0, 900, 100)


async def waiting_for_its_window(ledger, clock, call):
    """What a call answers that had to wait for ann's window for a minute."""
    holding, calling = await ledger.sessions(2)
    block = holding.connection.transaction()
    await block.start()
    await holding.connection.execute(
        "select from preauth.budget_window where account_id = 'ann' for update"
    )
    answer = asyncio.create_task(call(calling))
    await until(lambda: ledger.waits(calling), "the call waits for the window")
    clock.advance(minutes=1)
    await block.rollback()
    return await answer


@pytest.mark.parametrize(
    ("call", "left"),
    [(lambda s: s.settle("r1", tokens(150)), 850), (lambda s: s.release("r1"), 1000)],
    ids=["settle", "release"],
)
@pytest.mark.parametrize("on_expiry", ["release", "keep"])
async def test_who_waited_for_a_window_goes_by_what_has_lapsed_meanwhile(
    ledger, clock, call, left, on_expiry
):
    """Those before it in the queue may have said that it is back."""
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("lease", "ann", tokens(300), ttl_seconds=30)
    await ledger.grant("ann", on_expiry=on_expiry)
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=600)
    answer = await waiting_for_its_window(ledger, clock, call)
    assert answer["lines"][0]["available"] == left
    assert await ledger.figures("ann") == Figures(1000 - left, 0, left)


async def test_a_settlement_whose_own_lease_lapses_while_it_waits_is_late(ledger, clock):
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=30)
    answer = await waiting_for_its_window(ledger, clock, lambda s: s.settle("r1", tokens(150)))
    assert (answer["late"], answer["lines"][0]["available"]) == (True, 850)
    assert await ledger.figures("ann") == Figures(150, 0, 850)


async def test_a_settlement_counts_no_lease_that_was_given_back_while_it_waited(ledger, clock):
    """The window's reserved is without it already, and so must be what has lapsed."""
    await ledger.grant("ann", on_expiry="release")
    await ledger.reserve("lease", "ann", tokens(300), ttl_seconds=30)
    await ledger.grant("ann", on_expiry="keep")
    await ledger.reserve("r1", "ann", tokens(400), ttl_seconds=600)
    clock.advance(minutes=1)
    sweeping, settling = await ledger.sessions(2)
    async with sweeping.connection.transaction():
        assert await sweep(sweeping) == 1
        answer = asyncio.create_task(settling.settle("r1", tokens(150)))
        await until(lambda: ledger.waits(settling), "the settlement waits for the window")
    (line,) = (await answer)["lines"]
    assert (line["settled"], line["reserved"], line["available"]) == (150, 0, 850)
    assert await ledger.figures("ann") == Figures(150, 0, 850)
