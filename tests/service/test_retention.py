"""What is old goes into files, and what is left still proves every window."""

import gzip
import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from service.retention import archive, check, read, subtract_months
from tests.support.checks import assert_problem
from tests.support.clock import NOON
from tests.support.money import MONTH, budget, tokens

CUT = NOON + timedelta(days=30)


@pytest.fixture(autouse=True)
async def year(ledger, clock):
    """ann's months: spend, a denial, a hold that is still open, a lease that lapsed."""
    await ledger.put_account("ann")
    await ledger.put_budget("ann", "monthly", budget(limit=1000, window=MONTH))
    await ledger.put_budget("ann", "ever", budget(limit=10_000))
    day = {"kind": "rolling", "seconds": 86_400, "slices": 24}
    await ledger.put_budget("ann", "rolling", budget(limit=10_000, window=day))
    for n in range(5):
        await ledger.reserve(f"old{n}", "ann", tokens(100), labels={"team": "x"})
        await ledger.settle(f"old{n}", tokens(10 + n))
    await ledger.reserve("denied", "ann", tokens(5000))
    await ledger.reserve("open", "ann", tokens(7))
    await ledger.reserve("released", "ann", tokens(7))
    await ledger.release("released")
    clock.advance(days=40)
    await ledger.charge("new", "ann", tokens(3))


@pytest.fixture
def connection(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


async def test_what_is_old_and_ended_is_in_the_files_with_all_its_rows(
    ledger, connection, tmp_path
):
    assert archive(connection, tmp_path, CUT) == 6

    documents = {d["reservation"]["request_id"]: d for _, d in read(tmp_path)}
    assert set(documents) == {"denied", *(f"old{n}" for n in range(5))}
    first = documents["old0"]
    assert first["reservation"]["body"]["labels"] == {"team": "x"}
    assert [line["settled_amount"] for line in first["lines"]] == [10, 10, 10]
    assert [event["kind"] for event in first["usage_events"]] == ["settlement"]
    assert documents["denied"]["reservation"]["denial"]["limit"] == 1000
    assert await ledger.count("hold_line", "request_id like 'old%'") == 0
    assert await ledger.count("usage_event", "request_id like 'old%'") == 0
    assert check(connection, tmp_path) == []


async def test_the_windows_keep_their_figures_and_the_ledger_still_adds_up(
    ledger, connection, tmp_path
):
    before = await ledger.figures("ann", "ever")
    archive(connection, tmp_path, CUT)
    assert await ledger.figures("ann", "ever") == before
    assert [
        tuple(r) for r in await ledger.connection.fetch("select * from preauth_api.verify()")
    ] == []


async def test_a_key_is_never_used_again(ledger, connection, tmp_path):
    archive(connection, tmp_path, CUT)
    before = await ledger.movements()
    for request_id in ("old0", "denied"):
        again = await ledger.reserve(request_id, "ann", tokens(100), labels={"team": "x"})
        assert_problem(again, 409, "request_id_conflict")
    assert (await ledger.settle("old0", tokens(10)))["status"] == 409
    assert (await ledger.reservation("old0"))["state"] == "settled"
    assert await ledger.movements() == before


async def test_what_can_still_be_settled_stays(ledger, connection, tmp_path):
    archive(connection, tmp_path, CUT)
    assert (await ledger.settle("open", tokens(7)))["state"] == "settled"
    assert (await ledger.settle("released", tokens(7)))["late"] is True


async def test_what_a_rolling_window_still_counts_stays(ledger, connection, tmp_path, clock):
    clock.advance(hours=2)
    assert archive(connection, tmp_path, clock.now) == 6
    assert (await ledger.figures("ann", "rolling")).settled == 3
    assert await ledger.count("hold_line", "request_id = 'new'") == 3


async def test_archiving_again_moves_only_what_is_new(connection, tmp_path, clock):
    assert archive(connection, tmp_path, CUT) == 6
    assert archive(connection, tmp_path, CUT) == 0
    clock.advance(days=40)
    assert archive(connection, tmp_path, CUT + timedelta(days=30)) == 1
    assert check(connection, tmp_path) == []


async def test_a_crash_before_the_commit_loses_nothing_and_counts_nothing_twice(
    connection, tmp_path, monkeypatch
):
    with connection.transaction() as doomed:
        archive(connection, tmp_path, CUT)
        raise psycopg.Rollback(doomed)
    assert len(list(read(tmp_path))) == 6
    assert archive(connection, tmp_path, CUT) == 6
    assert len(list(tmp_path.iterdir())) == 2
    assert len(list(read(tmp_path))) == 6
    assert check(connection, tmp_path) == []


async def test_a_file_that_is_missing_or_changed_is_found(connection, tmp_path):
    archive(connection, tmp_path, CUT)
    (path,) = tmp_path.iterdir()
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    changed = [json.loads(line) for line in lines]
    changed[-1]["lines"][0]["settled_amount"] = 9
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, changed)).encode()))
    assert any("settled in the archive" in line for line in check(connection, tmp_path))
    path.unlink()
    assert len(check(connection, tmp_path)) == 3


def test_months_are_calendar_months():
    now = datetime(2026, 3, 31, 15, tzinfo=UTC)
    assert subtract_months(now, 1) == datetime(2026, 2, 1, tzinfo=UTC)
    assert subtract_months(now, 13) == datetime(2025, 2, 1, tzinfo=UTC)


async def test_the_future_cannot_be_archived(ledger, clock):
    with pytest.raises(Exception, match="before must be in the past"):
        await ledger.connection.fetch(
            "select * from preauth_api.archive($1)", clock.now + timedelta(days=1)
        )


async def test_what_was_settled_after_the_instant_stays(ledger, clock, connection, tmp_path):
    now = clock.now
    clock.set(NOON)
    await ledger.grant("bob")
    await ledger.reserve("long", "bob", tokens(5))
    clock.set(now)
    await ledger.settle("long", tokens(5))
    assert archive(connection, tmp_path, CUT) == 6
    assert (await ledger.settle("long", tokens(5)))["replayed"]
    assert await ledger.count("usage_event", "request_id = 'long'") == 1
