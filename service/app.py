"""The service: what it serves, and what runs beside it."""

import contextlib
import gc
from collections.abc import AsyncIterator, Sequence

from litestar.datastructures import State
from litestar.exceptions import HTTPException

from service import logs
from service.api.accounts import account, put_account
from service.api.audit import AUDITS
from service.api.auth import KeyRing, authorise
from service.api.balance import balance
from service.api.bodies import MAX_BODY_BYTES
from service.api.budgets import delete_budget, put_budget
from service.api.cancel import cancel
from service.api.charge import charge
from service.api.corrections import adjust, reset
from service.api.docs import asset, docs, openapi
from service.api.extend import extend
from service.api.front import Service
from service.api.health import healthz, readyz
from service.api.keys import create_key, keys, revoke_key
from service.api.measurements import measurements
from service.api.options import options_for
from service.api.plan_changes import change_plan
from service.api.plans import plan, put_plan
from service.api.price_tables import price_table, price_tables, publish_price_table
from service.api.problems import answer_exception
from service.api.raises import delete_raise, put_raise
from service.api.release import release
from service.api.rerate import rerate
from service.api.reservations import reservation
from service.api.reserve import reserve
from service.api.resolve import resolve
from service.api.settle import settle
from service.jobs.alerts import Alerts
from service.jobs.expiry import Expiry
from service.jobs.loop import Loop
from service.jobs.stuck import Stuck
from service.ledger import Ledger
from service.settings import Settings

__all__ = ["create_app"]

CALLS = [reserve, settle, release, extend, cancel, charge]
READS = [balance, reservation]
ADMINISTRATION = [
    put_plan, plan,
    put_account, account, change_plan,
    put_budget, delete_budget, put_raise, delete_raise,
    adjust, reset,
    publish_price_table, price_tables, price_table, rerate,
    create_key, keys, revoke_key,
    resolve,
]  # fmt: skip
OPERATIONS = [healthz, readyz, measurements, openapi, docs, asset]
OTHERS = [*READS, *AUDITS, *ADMINISTRATION, *OPERATIONS]


def create_app(settings: Settings | None = None) -> Service:
    """Build the service. It starts whether or not its database is there.

    Raises:
        ValueError: no database is set; alerts cannot be delivered with what the environment says.
    """
    settings = settings or Settings()
    logs.configure(settings.log_level)
    ledger = Ledger.of(settings)
    jobs = _jobs(settings, ledger)
    service = Service(
        route_handlers=[*options_for(OTHERS), *OTHERS],
        guards=[authorise],
        exception_handlers={HTTPException: answer_exception, Exception: answer_exception},
        request_max_body_size=MAX_BODY_BYTES,
        state=_state(settings, ledger),
        lifespan=[_running(ledger, jobs)],
        openapi_config=None,
        logging_config=None,
    )
    service.add_calls(CALLS)
    return service


def _state(settings: Settings, ledger: Ledger) -> State:
    ring = KeyRing(ledger, admin_key=settings.admin_key, seconds=settings.key_cache_seconds)
    return State({"ledger": ledger, "key_ring": ring})


def _jobs(settings: Settings, ledger: Ledger) -> list[Loop]:
    jobs: list[Loop] = [
        Expiry(ledger, settings.expiry_interval_seconds),
        Stuck(ledger, settings.stuck_interval_seconds),
    ]
    if (alerts := Alerts.of(settings, ledger)) is not None:
        jobs.append(alerts)
    return jobs


@contextlib.asynccontextmanager
async def _running(ledger: Ledger, jobs: Sequence[Loop]) -> AsyncIterator[None]:
    await ledger.open()
    # What start-up made stays: the collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    try:
        async with contextlib.AsyncExitStack() as running:
            for job in jobs:
                await running.enter_async_context(job.running())
            yield
    finally:
        await ledger.close()
