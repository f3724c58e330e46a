"""A dry run tells what would be decided, and decides nothing."""

from tests.support.checks import assert_denied, assert_problem
from tests.support.money import budget, tokens


async def test_a_dry_run_tells_an_authorization_and_holds_nothing(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r0", "ann", tokens(1))
    moved = await ledger.movements()
    reply = await ledger.reserve("r1", "ann", tokens(400), dry_run=True)
    assert (reply["decision"], reply["dry_run"]) == ("authorized", True)
    assert await ledger.movements() == moved
    assert_problem(await ledger.reservation("r1"), 404, "reservation_unknown")


async def test_a_dry_run_tells_a_denial_and_does_not_record_it(ledger, clock):
    await ledger.grant("ann")
    reply = await ledger.reserve("r1", "ann", tokens(1001), dry_run=True)
    assert_denied(reply, "exceeds_limit")
    assert await ledger.count("reservation") == 0


async def test_the_id_of_a_dry_run_is_free_for_the_real_request(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(900), dry_run=True)
    reply = await ledger.reserve("r1", "ann", tokens(400))
    assert (reply["replayed"], reply["lines"][0]["available"]) == (False, 600)
    assert "dry_run" not in reply


async def test_dry_runs_in_a_batch_do_not_use_up_room(ledger, clock):
    await ledger.grant("ann")
    item = {"account_id": "ann", "amounts": tokens(900)}
    rows = await ledger.many(
        "reserve",
        [{**item, "request_id": "r1", "dry_run": True}, {**item, "request_id": "r2"}],
    )
    assert [row.status for row in rows] == [200, 200]
    assert (await ledger.window("ann"))["reserved"] == 900


async def test_a_dry_run_of_an_account_not_seen_before_leaves_no_trace_of_it(ledger, clock):
    await ledger.put_plan("free", budget("cap", 1000))
    await ledger.connection.execute("set preauth.default_plan = 'free'")
    before = await ledger.contents()
    reply = await ledger.reserve("r1", "newcomer", tokens(400), dry_run=True)
    assert (reply["decision"], reply["lines"][0]["available"]) == ("authorized", 600)
    assert await ledger.contents() == before


async def test_dry_runs_do_not_see_each_other_and_leave_their_neighbours_whole(ledger, clock):
    await ledger.grant("ann")
    item = {"account_id": "ann", "amounts": tokens(600)}
    rows = await ledger.many(
        "reserve",
        [
            {**item, "request_id": "d1", "dry_run": True},
            {**item, "request_id": "r1"},
            {**item, "request_id": "d2", "dry_run": True},
            {**item, "request_id": "r2"},
        ],
    )
    assert [(row.n, row.status) for row in rows] == [(1, 200), (2, 200), (3, 200), (4, 402)]
