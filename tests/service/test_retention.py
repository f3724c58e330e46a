"""What is old goes into files, and what is left still proves every window."""

import gzip
import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from service.archives import DamagedFileError, read
from service.retention import archive, check, subtract_months
from tests.support.checks import assert_problem
from tests.support.clock import NOON
from tests.support.logins import SERVICE_LOGIN, login
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


@pytest.mark.parametrize(
    ("call", "more"),
    [
        ("settle", {"amounts": tokens(10)}),
        ("settle", {"amounts": tokens(11)}),
        ("settle", {"usage": {"output_tokens": 10}}),
        ("settle", {"outcome": "unknown"}),
        ("release", {"reason": "no work"}),
        ("extend", {"ttl_seconds": 60}),
        ("cancel", {}),
        ("resolve", {"action": "settle", "amounts": tokens(10), "reason": "by hand"}),
        ("resolve", {"action": "accept_overage", "reason": "by hand"}),
        ("resolve", {"action": "release", "reason": "by hand"}),
    ],
)
async def test_what_is_archived_is_settled_or_denied_whatever_is_asked_and_nothing_is_written(
    ledger, connection, tmp_path, call, more
):
    """With what it was settled is not there to be compared: nobody is told that it was other usage."""
    archive(connection, tmp_path, CUT)
    before = await ledger.contents()
    for request_id, code in (("old0", "already_settled"), ("denied", "not_authorized")):
        row = await ledger.one(call, request_id=request_id, account_id="ann", **more)
        assert_problem(row.body, 409, code)
        assert "other usage" not in row.body["detail"]
    assert await ledger.contents() == before


async def test_a_settlement_of_what_is_archived_says_that_it_is(ledger, connection, tmp_path):
    archive(connection, tmp_path, CUT)
    reply = await ledger.settle("old0", tokens(10))
    assert reply["detail"] == (
        "Reservation old0 is settled and archived. What it was settled with is no longer here, "
        "so nothing was compared or changed."
    )


@pytest.mark.parametrize("call", ["reserve", "charge"])
async def test_nobody_is_told_that_an_archived_key_had_another_body(
    ledger, connection, tmp_path, call
):
    archive(connection, tmp_path, CUT)
    for request_id in ("old0", "denied"):
        row = await ledger.one(call, request_id=request_id, account_id="ann", amounts=tokens(5000))
        assert_problem(row.body, 409, "request_id_conflict")
        assert row.body["detail"] == (
            f"Request {request_id} of account ann was decided and is archived. "
            "Its body is no longer here, so nothing was compared or changed."
        )


@pytest.mark.parametrize(
    ("reason", "amount", "status"),
    [("exceeds_limit", 5000, 402), ("budget_exhausted", 998, 429), ("too_many_holds", 1, 402)],
)
async def test_an_archived_denial_reads_without_figures(
    ledger, clock, connection, tmp_path, reason, amount, status
):
    if reason == "too_many_holds":
        await ledger.put_account("ann", max_open_holds=0)
    await ledger.reserve("no", "ann", tokens(amount))
    told = await ledger.reservation("no")
    assert (told["denial"]["reason"], told["denial"]["status"]) == (reason, status)
    clock.advance(days=40)
    archive(connection, tmp_path, clock.now)
    found = await ledger.reservation("no")
    assert found["denial"]["detail"] == (
        f"The request was denied ({reason}); the figures that proved it are archived."
    )
    assert (found["denial"]["reason"], found["denial"]["status"]) == (reason, status)
    why = await ledger.call("audit_why_denied", request_id="no")
    assert (why["denial"]["reason"], why["window"], why["items"]) == (reason, None, [])


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


def crash_before_the_commit(connection, directory):
    """The file is written, and the ledger lets go of nothing."""
    with connection.transaction() as doomed:
        archive(connection, directory, CUT)
        raise psycopg.Rollback(doomed)


async def test_what_changed_between_a_crash_and_the_next_run_is_counted_once(
    ledger, connection, tmp_path
):
    crash_before_the_commit(connection, tmp_path)
    assert_problem(await ledger.settle("old0", tokens(99)), 409, "settlement_conflict")
    assert archive(connection, tmp_path, CUT) == 6
    assert check(connection, tmp_path) == []
    (kept,) = [d for _, d in read(tmp_path) if d["reservation"]["request_id"] == "old0"]
    assert len(kept["reservation_events"]) == 1


async def test_the_line_that_the_ledger_took_the_hash_of_counts_whatever_the_files_are_called(
    ledger, connection, tmp_path
):
    """They are named by the clock of the machine that archives, which may go back."""
    crash_before_the_commit(connection, tmp_path)
    (early,) = tmp_path.iterdir()
    await ledger.settle("old0", tokens(99))
    archive(connection, tmp_path, CUT)
    early.rename(tmp_path / "99991231T000000000000.jsonl.gz")
    (kept,) = [d for _, d in read(tmp_path, connection) if d["reservation"]["request_id"] == "old0"]
    assert len(kept["reservation_events"]) == 1
    assert check(connection, tmp_path) == []


async def test_what_a_crash_left_in_the_ledger_is_not_counted_as_moved_out(
    connection, tmp_path, clock
):
    archive(connection, tmp_path, CUT)
    clock.advance(days=40)
    with connection.transaction() as doomed:
        assert archive(connection, tmp_path, CUT + timedelta(days=30)) == 1
        raise psycopg.Rollback(doomed)
    assert check(connection, tmp_path) == []


async def test_the_archive_of_a_forgotten_account_and_of_who_came_back_are_both_counted(
    ledger, connection, tmp_path, clock
):
    await ledger.put_account("bob")
    await ledger.put_budget("bob", "ever", budget(limit=10_000))
    await ledger.charge("r", "bob", tokens(3))
    clock.advance(days=40)
    archive(connection, tmp_path, clock.now)
    connection.execute("select preauth_api.forget('bob', 'asked for', 'test')")
    await ledger.put_account("bob")
    await ledger.put_budget("bob", "ever", budget(limit=10_000))
    await ledger.charge("r", "bob", tokens(3))
    assert check(connection, tmp_path) == []
    clock.advance(days=40)
    assert archive(connection, tmp_path, clock.now) == 1
    assert check(connection, tmp_path) == []


async def test_who_was_forgotten_between_a_crash_and_the_next_run_is_counted_once(
    ledger, connection, tmp_path, clock
):
    await ledger.put_account("bob")
    await ledger.put_budget("bob", "ever", budget(limit=10_000))
    await ledger.charge("r", "bob", tokens(3), labels={"team": "x"})
    clock.advance(days=40)
    with connection.transaction() as doomed:
        archive(connection, tmp_path, clock.now)
        raise psycopg.Rollback(doomed)
    connection.execute("select preauth_api.forget('bob', 'asked for', 'test')")
    assert check(connection, tmp_path) == []
    archive(connection, tmp_path, clock.now)
    assert check(connection, tmp_path) == []


async def test_lines_that_were_rewritten_for_who_was_forgotten_still_count(
    ledger, connection, tmp_path, clock
):
    await ledger.put_account("bob")
    await ledger.put_budget("bob", "ever", budget(limit=10_000))
    await ledger.charge("r", "bob", tokens(3))
    clock.advance(days=40)
    archive(connection, tmp_path, clock.now)
    (told,) = connection.execute("select preauth_api.forget('bob', 'why', 'test')").fetchone()
    (path,) = tmp_path.iterdir()
    rewritten = gzip.decompress(path.read_bytes()).replace(b"bob", told["account_id"].encode())
    path.write_bytes(gzip.compress(rewritten))
    assert check(connection, tmp_path) == []


async def test_who_may_read_no_table_still_checks_by_the_last_file(
    ledger, connection, database_url, tmp_path
):
    crash_before_the_commit(connection, tmp_path)
    await ledger.settle("old0", tokens(99))
    archive(connection, tmp_path, CUT)
    service_url = login(database_url, SERVICE_LOGIN, "preauth_service")
    with psycopg.connect(service_url, autocommit=True) as service:
        assert check(service, tmp_path) == []


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


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"not gzip" + content,
        lambda content: content[: len(content) // 2],
        lambda content: content[:20] + b"\x00\xff" + content[22:],
        lambda _: gzip.compress(b'{"reservation": \n'),
        lambda _: gzip.compress(b'{"reservation": {}}\n'),
        lambda _: gzip.compress(b"7\n"),
        lambda _: gzip.compress(b"\xff\n"),
    ],
    ids=["no gzip", "cut short", "bits", "no JSON", "no reservation", "no object", "no UTF-8"],
)
async def test_a_damaged_file_is_named_and_the_others_are_still_compared(
    connection, tmp_path, clock, damage
):
    archive(connection, tmp_path, CUT)
    (path,) = tmp_path.iterdir()
    clock.advance(days=40)
    archive(connection, tmp_path, clock.now)
    path.write_bytes(damage(path.read_bytes()))
    found = check(connection, tmp_path)
    assert found[0].startswith(f"{path}: damaged: ")
    assert any(line.startswith("window ") for line in found[1:])
    assert len([line for line in found if "damaged" in line]) == 1
    with pytest.raises(DamagedFileError, match=path.name):
        list(read(tmp_path))


async def test_a_file_that_cannot_be_read_is_named(connection, tmp_path):
    archive(connection, tmp_path, CUT)
    (tmp_path / "20260101T000000000000.jsonl.gz").mkdir()
    assert check(connection, tmp_path) == [
        f"{tmp_path}/20260101T000000000000.jsonl.gz: damaged: Is a directory"
    ]


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
