"""What the outbox says reaches a real receiver: signed, at least once, whatever fails."""

import asyncio
import time
from contextlib import asynccontextmanager

import psycopg
import pytest

from service import migrate
from service.jobs import loop as loops
from service.jobs.alerts import Alerts
from service.ledger import Ledger
from service.metrics import ALERTS
from service.settings import Settings
from tests.support.money import MONTH, tokens
from tests.support.receiver import SECRET, Receiver
from tests.support.served import Served
from tests.support.waits import until, until_sync

EVERY = list(range(1, 101))
WAITING = b"select count(*) from preauth.outbox where delivered_at is null"


@pytest.fixture
def receiver():
    with Receiver().listening() as receiver:
        yield receiver


def settings(database_url, receiver, **more):
    return Settings(
        database_url=database_url,
        webhook_url=receiver.url,
        webhook_secret=SECRET,
        webhook_interval_seconds=0.02,
        **{"webhook_timeout": 5.0, **more},
    )


@asynccontextmanager
async def delivering(database_url, receiver, **more):
    """The loop of one worker, as the application runs it."""
    chosen = settings(database_url, receiver, **more)
    ledger = Ledger.of(chosen)
    await ledger.open()
    try:
        alerts = Alerts.of(chosen, ledger)
        assert alerts is not None
        async with alerts.running():
            yield
    finally:
        await ledger.close()


async def reach(ledger, *thresholds, account_id="ann"):
    """One spend that reaches every threshold."""
    await ledger.grant(account_id, 100, window=MONTH, thresholds=list(thresholds))
    await ledger.charge(f"all-{account_id}", account_id, tokens(100))


async def test_a_reached_threshold_is_told_once_signed_and_under_its_own_id(
    ledger, clock, database_url, receiver
):
    await reach(ledger, 80)

    async with delivering(database_url, receiver):
        await until(lambda: delivered(ledger, 1), "it is delivered")
        await asyncio.sleep(0.2)

    ((message_id, message),) = receiver.accepted
    row = await ledger.connection.fetchrow("select message_id, body, attempts from preauth.outbox")
    assert message_id == str(row["message_id"])
    assert message["type"] == "threshold_reached"
    assert message["timestamp"] == "2026-09-14T12:00:00+00:00"
    assert message["data"] == row["body"]
    assert message["data"]["threshold"] == 80
    assert row["attempts"] == 1


async def delivered(ledger, count):
    return await ledger.count("outbox", "delivered_at is not null") == count


@pytest.mark.parametrize("status", [500, 404, 302])
async def test_what_is_not_answered_2xx_is_sent_again_later_and_later(
    ledger, clock, database_url, receiver, status
):
    await reach(ledger, 80)
    receiver.status = status
    async with delivering(database_url, receiver, webhook_retry_seconds=20):
        for attempt, pause in enumerate([20, 40, 80, 160], 1):
            await until(lambda n=attempt: came(receiver, n), f"attempt {attempt}")
            assert await due_in(ledger, clock) == pause
            clock.advance(seconds=pause - 1)
            await asyncio.sleep(0.1)
            assert len(receiver.arrived) == attempt
            clock.advance(seconds=1)
        await until(lambda: came(receiver, 5), "the fifth attempt")
        assert receiver.accepted == []
        receiver.status = 200
        clock.advance(hours=1)
        await until(lambda: delivered(ledger, 1), "it is delivered")
    assert len(set(receiver.arrived)) == 1


async def came(receiver, count):
    return len(receiver.arrived) >= count


async def due_in(ledger, clock):
    next_at = await ledger.connection.fetchval("select next_attempt_at from preauth.outbox")
    return (next_at - clock.now).total_seconds()


async def test_the_pause_is_at_most_an_hour(ledger, clock):
    await reach(ledger, 80)
    pauses = []
    for _ in range(40):
        assert len(await ledger.connection.fetch("select * from preauth_api.take_alerts()")) == 1
        pauses.append(await due_in(ledger, clock))
        clock.advance(seconds=pauses[-1])
    assert pauses[:10] == [15, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert set(pauses[10:]) == {3600}


async def test_a_receiver_that_is_down_gets_everything_when_it_is_back(ledger, clock, database_url):
    gone = Receiver()
    with gone.listening():
        pass
    await reach(ledger, *EVERY[-16:])
    async with delivering(database_url, gone):
        await until(lambda: attempted(ledger, 16), "all were tried")
        assert await delivered(ledger, 0)
        with gone.listening(gone.port):
            clock.advance(hours=1)
            await until(lambda: delivered(ledger, 16), "all are delivered")
    assert len(set(gone.ids)) == 16


async def attempted(ledger, count):
    return await ledger.count("outbox", "attempts > 0") == count


async def test_a_receiver_that_is_slow_holds_up_neither_the_others_nor_the_end(
    ledger, clock, database_url, receiver
):
    """It gets as long as the setting says; the loop ends long before that."""
    await reach(ledger, 80)
    receiver.open.clear()
    async with delivering(database_url, receiver, webhook_timeout=60):
        await until(lambda: came(receiver, 1), "it came")
        begun = time.monotonic()
    assert time.monotonic() - begun < 5
    receiver.open.set()
    assert await delivered(ledger, 0)

    async with delivering(database_url, receiver):
        clock.advance(hours=1)
        await until(lambda: delivered(ledger, 1), "it is delivered")
    assert len(set(receiver.arrived)) == 1


async def test_what_is_answered_is_confirmed_while_another_hangs(
    ledger, clock, database_url, receiver
):
    await reach(ledger, *EVERY[-6:])
    receiver.open.clear()
    receiver.at_once = 5
    async with delivering(database_url, receiver, webhook_timeout=60):
        await until(lambda: delivered(ledger, 5), "five are confirmed")
    receiver.open.set()

    clock.advance(hours=1)
    async with delivering(database_url, receiver):
        await until(lambda: delivered(ledger, 6), "all are delivered")
    assert len(receiver.arrived) == 7
    assert len(set(receiver.arrived)) == 6


async def test_what_is_answered_is_confirmed_though_the_loop_is_cancelled_meanwhile(
    ledger, clock, database_url, receiver, monkeypatch
):
    """Another transaction holds the confirmation up until the loop's time to stop is over."""
    monkeypatch.setattr(loops, "_STOP_SECONDS", 0.05)
    await reach(ledger, *EVERY[-6:])
    async with locked(ledger, receiver) as release:
        async with delivering(database_url, receiver):
            await until(lambda: waits_for_a_lock(ledger), "they are being confirmed")
            asyncio.get_running_loop().call_later(0.3, release.set)
        assert await delivered(ledger, 6)


async def test_a_confirmation_that_hangs_does_not_hold_up_the_end(
    ledger, clock, database_url, receiver
):
    await reach(ledger, *EVERY[-6:])
    async with locked(ledger, receiver):
        async with delivering(database_url, receiver):
            await until(lambda: waits_for_a_lock(ledger), "they are being confirmed")
            begun = time.monotonic()
        assert time.monotonic() - begun < 5


@asynccontextmanager
async def locked(ledger, receiver):
    """The outbox, from before the receiver answers until the event that is given is set."""
    other = await ledger.connect()
    release = asyncio.Event()
    receiver.open.clear()

    async def hold():
        await until(lambda: came(receiver, 6), "all were sent")
        async with other.connection.transaction():
            await other.connection.execute("lock table preauth.outbox in exclusive mode")
            receiver.open.set()
            await release.wait()

    holder = asyncio.create_task(hold())
    yield release
    release.set()
    await holder


async def accepted(receiver, count):
    return len(receiver.accepted) >= count


async def waits_for_a_lock(ledger):
    return await ledger.connection.fetchval(
        "select count(*) > 0 from pg_stat_activity where wait_event_type = 'Lock'"
        " and datname = current_database() and query like '%confirm_alerts%'"
    )


async def test_what_was_answered_while_the_store_was_away_is_confirmed_when_it_is_back(
    ledger, clock, database_url, receiver
):
    """It is not sent again: nobody but this worker knows of the answer."""
    await reach(ledger, *EVERY[-6:])
    confirm = "alter function preauth_api.{}(bigint[]) rename to {}"
    await ledger.connection.execute(confirm.format("confirm_alerts", "gone"))
    async with delivering(database_url, receiver):
        await until(lambda: accepted(receiver, 6), "all are answered")
        await asyncio.sleep(0.2)
        assert await delivered(ledger, 0)
        await ledger.connection.execute(confirm.format("gone", "confirm_alerts"))
        await until(lambda: delivered(ledger, 6), "they are confirmed")
    assert len(receiver.arrived) == 6


async def test_an_answer_that_comes_too_late_counts_as_none(ledger, clock, database_url, receiver):
    await reach(ledger, 80)
    before = ALERTS.labels("failed")._value.get()
    receiver.open.clear()
    async with delivering(database_url, receiver, webhook_timeout=0.2):
        await until(failed_since(before), "it is given up")
        receiver.open.set()
        assert await delivered(ledger, 0)
        clock.advance(hours=1)
        await until(lambda: delivered(ledger, 1), "it is delivered")


def failed_since(before):
    async def failed():
        return ALERTS.labels("failed")._value.get() > before

    return failed


async def test_several_workers_deliver_each_message_once(ledger, clock, database_url, receiver):
    for n in range(20):
        await reach(ledger, *EVERY[-10:], account_id=f"u{n}")
    async with (
        delivering(database_url, receiver),
        delivering(database_url, receiver),
        delivering(database_url, receiver),
        delivering(database_url, receiver),
    ):
        await until(lambda: delivered(ledger, 200), "all are delivered")
        await asyncio.sleep(0.2)
    assert len(receiver.arrived) == len(set(receiver.arrived)) == 200


async def test_what_another_worker_has_taken_is_not_taken_until_its_time_has_passed(ledger, clock):
    await reach(ledger, 50, 80, 100)
    take = "select message_id from preauth_api.take_alerts(2)"
    first = await ledger.connection.fetch(take)
    second = await ledger.connection.fetch(take)
    assert (len(first), len(second)) == (2, 1)
    assert not set(first) & set(second)
    assert await ledger.connection.fetch(take) == []
    clock.advance(seconds=15)
    assert len(await ledger.connection.fetch(take)) == 2


async def test_a_message_locked_by_another_transaction_is_skipped_not_waited_for(ledger, clock):
    await reach(ledger, 50, 80)
    other = await ledger.connect()
    async with other.connection.transaction():
        taken = await other.connection.fetch("select message_id from preauth_api.take_alerts(1)")
        rest = await ledger.connection.fetch("select message_id from preauth_api.take_alerts(9)")
    assert len(taken) == len(rest) == 1
    assert taken != rest


async def test_confirming_twice_confirms_once(ledger, clock):
    await reach(ledger, 50, 80)
    rows = await ledger.connection.fetch("select message_id from preauth_api.take_alerts(9)")
    ids = [row["message_id"] for row in rows]
    confirm = "select preauth_api.confirm_alerts($1)"
    assert await ledger.connection.fetchval(confirm, ids) == 2
    assert await ledger.connection.fetchval(confirm, [*ids, 12345]) == 0


async def test_without_a_receiver_the_messages_wait(ledger, clock, database_url):
    chosen = Settings(database_url=database_url)
    assert Alerts.of(chosen, Ledger.of(chosen)) is None


async def test_a_store_that_is_away_ends_no_loop(ledger, clock, database_url, receiver):
    """No function to take messages with: the loop says so, and goes on when it is there."""
    await ledger.connection.execute(
        "alter function preauth_api.take_alerts(integer, integer) rename to gone"
    )
    await reach(ledger, 80)
    async with delivering(database_url, receiver):
        await asyncio.sleep(0.2)
        await ledger.connection.execute(
            "alter function preauth_api.gone(integer, integer) rename to take_alerts"
        )
        await until(lambda: delivered(ledger, 1), "it is delivered")


class TestProcesses:
    """`preauth serve`, killed in between."""

    @pytest.fixture
    def serve(self, database_url, tmp_path, receiver):
        with psycopg.connect(database_url) as connection:
            connection.execute(
                b"insert into preauth.alembic_version values (%s) on conflict do nothing",
                [migrate.head()],
            )
        started = []

        def start(workers, **more):
            environment = {
                "PREAUTH_WEBHOOK_URL": receiver.url,
                "PREAUTH_WEBHOOK_SECRET": SECRET,
                "PREAUTH_WEBHOOK_INTERVAL_SECONDS": "0.05",
                "PREAUTH_WEBHOOK_TIMEOUT": "1",
                "PREAUTH_WEBHOOK_RETRY_SECONDS": "1",
                **more,
            }
            started.append(Served(database_url, tmp_path, workers, environment))
            return started[-1].start()

        yield start
        for served in started:
            served.end()

    @pytest.mark.e2e
    async def test_killed_while_it_delivers_it_delivers_again_after_the_start(
        self, ledger, database_url, receiver, serve
    ):
        await reach(ledger, *EVERY[-8:])
        receiver.open.clear()
        served = serve(1)
        await until(lambda: came(receiver, 8), "all were sent")
        served.end()
        assert await delivered(ledger, 0)
        receiver.open.set()

        serve(1)
        await until(lambda: delivered(ledger, 8), "all are delivered")
        assert len(set(receiver.arrived)) == 8

    @pytest.mark.e2e
    async def test_two_processes_deliver_each_message_once_and_stop_while_the_receiver_hangs(
        self, ledger, database_url, receiver, serve
    ):
        served = serve(2, PREAUTH_WEBHOOK_TIMEOUT="60")
        for n in range(10):
            await reach(ledger, *EVERY[-10:], account_id=f"u{n}")
        await until(lambda: delivered(ledger, 100), "all are delivered")
        assert len(receiver.arrived) == 100
        assert b"t0ken" not in served.log.read_bytes()

        receiver.open.clear()
        await reach(ledger, 80, account_id="late")
        await until(lambda: came(receiver, 101), "the last was sent")
        served.process.terminate()
        served.process.wait(timeout=20)
        until_sync(lambda: not served.answers(), "nobody answers any more")

    @pytest.mark.e2e
    async def test_told_to_stop_while_the_receiver_hangs_it_delivers_nothing_acknowledged_again(
        self, ledger, database_url, receiver, serve
    ):
        receiver.open.clear()
        receiver.at_once = 5
        served = serve(1, PREAUTH_WEBHOOK_TIMEOUT="60")
        await reach(ledger, *EVERY[-6:])
        await until(lambda: came(receiver, 6), "all were sent")
        await until(lambda: accepted(receiver, 5), "five are answered")
        served.process.terminate()
        served.process.wait(timeout=20)
        assert await delivered(ledger, 5)
        receiver.open.set()
