"""PostgreSQL stopped, hanging, overloaded: 503 within a bounded time, and back without a restart."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from service.ledger import BatchRefused, InvariantBroken, Ledger, StoreUnavailable
from service.ledger.carrier import LedgerCarrier
from service.ledger.coalescer import Passenger
from service.ledger.errors import classify
from service.postgres import PostgresServer
from tests.api.client import ADMIN_KEY, Api, in_process, settings_for
from tests.support import databases, schemas
from tests.support.checks import assert_problem
from tests.support.money import Json
from tests.support.waits import until

TIMEOUT = 1.0
SLACK = 1.0


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that these tests may stop."""
    with PostgresServer(tmp_path_factory.mktemp("outage")) as server:
        schemas.from_sql(server.dsn)
        yield server


@pytest.fixture
async def fragile(postgres: PostgresServer) -> AsyncIterator[Api]:
    """The service on it, with little patience."""
    if not postgres.running:
        postgres.start()
    settings = settings_for(
        postgres.dsn, database_timeout=TIMEOUT, pool_size=3, key_cache_seconds=0,
        expiry_interval_seconds=0.1,
    )  # fmt: skip
    async with in_process(settings) as api:
        await api.grant("a")
        yield api
        if not postgres.running:
            postgres.start()
    assert databases.mismatches(postgres.dsn) == []


def family(pid: int) -> list[int]:
    """The postmaster and all its processes."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


@contextmanager
def frozen(server: PostgresServer) -> Iterator[None]:
    """Every process of the server stopped in its tracks."""
    assert server.pid is not None
    pids = family(server.pid)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)


async def assert_unavailable(api: Api, request_id: str, at_most: float, **more: object) -> None:
    started = time.monotonic()
    response = await api.reserve(request_id, "a", 1, **more)
    assert time.monotonic() - started < at_most
    assert int(response.headers["retry-after"]) >= 1
    assert_problem(response.json(), 503, "store_unavailable")


def complaints(capsys: pytest.CaptureFixture[str]) -> list[Json]:
    """What the log says of the database, line by line."""
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    return [line for line in lines if line["event"] == "database_unavailable"]


async def works_again(api: Api, request_id: str) -> None:
    async def authorized() -> bool:
        return (await api.reserve(request_id, "a", 1)).status_code == 200

    await until(authorized, "the service decides again")


async def test_stopped_postgres_is_a_503_at_once_and_recovery_needs_no_restart(
    fragile: Api, postgres: PostgresServer
) -> None:
    await fragile.reserve("before-stop", "a", 1)
    postgres.stop()
    for number in range(5):
        await assert_unavailable(fragile, f"stopped-{number}", TIMEOUT + SLACK)
    assert (await fragile.get("/readyz")).status_code == 503
    assert (await fragile.get("/healthz")).status_code == 200
    postgres.start()
    await works_again(fragile, "after-stop")


async def test_why_there_is_no_connection_is_logged_once_and_not_once_a_call(
    postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    dsn = postgres.dsn
    postgres.stop()
    async with in_process(settings_for(dsn, log_level="warning")) as api:
        for number in range(5):
            await assert_unavailable(api, f"told-{number}", TIMEOUT + SLACK)
    (why,) = complaints(capsys)
    assert why["kind"] in {"FileNotFoundError", "ConnectionRefusedError"}


async def test_what_a_server_answers_instead_is_logged_with_its_sqlstate(
    postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    if not postgres.running:
        postgres.start()
    nowhere = postgres.dsn_for("nowhere").replace("postgres@", "postgres:s3cret@")
    async with in_process(settings_for(nowhere, log_level="warning")) as api:
        await assert_unavailable(api, "r", TIMEOUT + SLACK)
    (why,) = complaints(capsys)
    assert (why["kind"], why["sqlstate"]) == ("InvalidCatalogNameError", "3D000")
    assert "s3cret" not in str(why)


async def test_while_the_store_is_down_an_unknown_key_is_a_503_and_no_401(
    fragile: Api, postgres: PostgresServer
) -> None:
    postgres.stop("immediate")
    for key in ("never-seen", ADMIN_KEY):
        await assert_unavailable(fragile, "r", TIMEOUT + SLACK, key=key)
    assert (await fragile.post("/reserve", {}, key=None)).status_code == 401


async def test_hanging_postgres_is_a_503_within_the_timeout_for_every_caller(
    fragile: Api, postgres: PostgresServer
) -> None:
    await fragile.reserve("before-freeze", "a", 1)
    with frozen(postgres):
        await asyncio.gather(
            *(assert_unavailable(fragile, f"frozen-{n}", TIMEOUT + SLACK) for n in range(12))
        )
    await works_again(fragile, "after-freeze")


async def test_a_full_pool_is_a_503_within_the_timeout(
    fragile: Api, postgres: PostgresServer
) -> None:
    blocker = await asyncpg.connect(postgres.dsn)
    try:
        async with blocker.transaction():
            await blocker.execute("lock table preauth.reservation in access exclusive mode")
            await asyncio.gather(
                *(assert_unavailable(fragile, f"full-{n}", TIMEOUT + SLACK) for n in range(12))
            )
    finally:
        await blocker.close()
    await works_again(fragile, "after-full")


async def test_a_killed_backend_costs_the_caller_nothing(
    fragile: Api, postgres: PostgresServer
) -> None:
    await fragile.reserve("before-kill", "a", 1)
    admin = await asyncpg.connect(postgres.dsn)
    await admin.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'preauth' and pid <> pg_backend_pid()"
    )
    await admin.close()
    assert (await fragile.reserve("after-kill", "a", 1)).status_code == 200


async def test_the_same_id_after_a_503_moves_money_once(
    fragile: Api, postgres: PostgresServer
) -> None:
    with frozen(postgres):
        await assert_unavailable(fragile, "once", TIMEOUT + SLACK)
    await works_again(fragile, "once")
    first, second = (await fragile.reserve("once", "a", 1)), (await fragile.reserve("once", "a", 1))
    assert first.json() == second.json()


async def test_the_service_starts_without_its_database(postgres: PostgresServer) -> None:
    dsn = postgres.dsn
    postgres.stop()
    async with in_process(settings_for(dsn, database_timeout=TIMEOUT)) as api:
        await assert_unavailable(api, "early", TIMEOUT + SLACK)
        postgres.start()
        await works_again(api, "late")


async def test_an_unmigrated_database_is_not_ready(
    empty_database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with in_process(settings_for(empty_database_url, log_level="warning")) as api:
        assert (await api.get("/readyz", key=None)).status_code == 503
        await assert_unavailable(api, "r", 5)
    (why,) = complaints(capsys)
    assert why["sqlstate"] == "3F000"


@pytest.mark.schema("head")
async def test_a_database_at_head_is_ready(database_url: str) -> None:
    async with in_process(settings_for(database_url)) as api:
        assert (await api.get("/readyz", key=None)).status_code == 200


@pytest.mark.parametrize(
    ("sqlstate", "error"), [("PA001", BatchRefused), ("PA002", InvariantBroken)]
)
async def test_our_own_sqlstates_are_known(
    empty_database_url: str, sqlstate: str, error: type[Exception]
) -> None:
    connection = await asyncpg.connect(empty_database_url)
    raising = f"do $$ begin raise exception 'x' using errcode = '{sqlstate}'; end $$"
    with pytest.raises(asyncpg.PostgresError) as caught:
        await connection.execute(raising)
    await connection.close()
    assert not isinstance(caught.value, asyncpg.exceptions.UnknownPostgresError)
    assert type(classify(caught.value).error) is error


async def test_a_batch_that_is_too_long_is_refused_as_a_fault_of_ours(database_url: str) -> None:
    ledger = Ledger.of(settings_for(database_url))
    await ledger.open()
    try:
        deadline = asyncio.get_running_loop().time() + 5
        answer = asyncio.get_running_loop().create_future()
        batch = [Passenger("reserve", "{}", None, None, None, deadline, answer)] * 513
        carrier = LedgerCarrier(ledger._connections.seat(), {})
        with pytest.raises(BatchRefused):
            await carrier.fly("reserve", batch, deadline)
    finally:
        await ledger.close()


@pytest.mark.parametrize(
    ("error", "rolled_back", "lost"),
    [
        (asyncpg.SerializationError("x"), True, False),
        (asyncpg.DeadlockDetectedError("x"), True, False),
        (asyncpg.ConnectionDoesNotExistError("x"), False, True),
        (asyncpg.AdminShutdownError("x"), False, True),
        (asyncpg.InterfaceError("x"), False, True),
        (ConnectionResetError(), False, True),
        (asyncpg.QueryCanceledError("x"), False, False),
        (asyncpg.LockNotAvailableError("x"), False, False),
        (asyncpg.TooManyConnectionsError("x"), False, False),
        (asyncpg.DiskFullError("x"), False, False),
        (asyncpg.ReadOnlySQLTransactionError("x"), False, False),
        (asyncpg.UndefinedFunctionError("x"), False, False),
        (TimeoutError(), False, False),
        (OSError(), False, False),
    ],
)
def test_what_may_be_sent_again(error: Exception, rolled_back: bool, lost: bool) -> None:
    failure = classify(error)
    assert isinstance(failure.error, StoreUnavailable)
    assert failure.error.cause in StoreUnavailable.CAUSES
    assert (failure.rolled_back, failure.lost) == (rolled_back, lost)


async def test_a_deadlock_is_tried_again(database_url: str) -> None:
    """Two connections, a counter that fails twice: the third attempt is answered."""
    connection = await asyncpg.connect(database_url)
    await connection.execute("""
        create sequence public.attempts;
        create or replace function preauth_api.expire_due(max_count integer default 100)
        returns integer language plpgsql as $$
        begin
          if nextval('public.attempts') < 3 then
            raise exception 'tie' using errcode = '40P01';
          end if;
          return 7;
        end $$""")
    await connection.close()
    ledger = Ledger.of(settings_for(database_url))
    await ledger.open()
    try:
        assert await ledger.expire_due(1) == 7
    finally:
        await ledger.close()
