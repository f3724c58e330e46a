"""Did time do its work? Leases lapse by the clock; the service's loops write it down."""

import asyncio
import time

from tests.e2e.campaign.log import Log
from tests.support.session import Session
from tests.support.waits import until

__all__ = ["look_at_what_time_did"]

PATIENCE_SECONDS = 60
DUE = (
    "select exists (select from preauth.reservation as r"
    " where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= clock_timestamp())"
)
STATES = (
    "select r.account_id, r.request_id, r.state from preauth.reservation as r"
    " join unnest($1::text[], $2::text[]) as a (account_id, request_id) using (account_id, request_id)"
)


async def look_at_what_time_did(session: Session, log: Log) -> None:
    """Wait for the last lease to lapse and for the service to have swept; compare the states."""
    await asyncio.sleep(log.lapses_until - time.monotonic())

    async def is_swept() -> bool:
        return not await session.connection.fetchval(DUE)

    await until(is_swept, "the service has swept", seconds=PATIENCE_SECONDS)
    accounts, ids = zip(*log.abandoned, strict=True) if log.abandoned else ((), ())
    rows = await session.connection.fetch(STATES, accounts, ids)
    found = {(account, request_id): state for account, request_id, state in rows}
    for key, state in log.abandoned.items():
        log.expect(found.get(key) == state, f"{key} was left to time: {found.get(key)}")
    log.figures.counts["left to time"] += len(log.abandoned)
