"""What several workers measure is shown once."""

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from service import migrate
from tests.support.ledger import Ledger
from tests.support.money import tokens
from tests.support.served import Served
from tests.support.waits import until


@pytest.mark.e2e
async def test_two_workers_show_what_is_stuck_and_not_twice_that(
    ledger: Ledger, database_url, tmp_path
):
    with psycopg.connect(database_url) as connection:
        connection.execute(
            b"insert into preauth.alembic_version values (%s) on conflict do nothing",
            [migrate.head()],
        )
    served = Served(database_url, tmp_path, 2, {"PREAUTH_STUCK_INTERVAL_SECONDS": "0.05"})
    try:
        served.start()
        await ledger.grant("ann")
        for name in ("r1", "r2", "r3"):
            await ledger.reserve(name, "ann", tokens(1))
            await ledger.call("settle", request_id=name, outcome="unknown")
        await until(lambda: shows(served, 3), "three are shown")
        for name in ("r1", "r2", "r3"):
            await ledger.call("settle", request_id=name, amounts=tokens(1))
        await until(lambda: shows(served, 0), "none is shown")
    finally:
        served.end()


async def shows(served, holds):
    async with httpx.AsyncClient() as client:
        text = (await client.get(f"{served.url}/metrics")).text
    found = [
        (*sample.labels.items(), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "preauth_stuck_holds"
    ]
    return sorted(found) == [(("state", "overage_review"), 0), (("state", "unknown"), holds)]
