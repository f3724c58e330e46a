"""The service needs no more than membership in preauth_service."""

import psycopg
import pytest

from service import serving
from tests.api.client import in_process, settings_for
from tests.support.logins import SERVICE_LOGIN, login


@pytest.fixture
def service_url(database_url):
    """The ledger as a login that may only make calls."""
    return login(database_url, SERVICE_LOGIN, "preauth_service")


async def test_the_service_works_as_a_login_that_may_only_make_calls(service_url):
    async with in_process(settings_for(service_url, default_plan="p")) as api:
        budget = {
            "name": "cap",
            "unit": "tokens",
            "window": {"kind": "lifetime"},
            "limit_amount": 5,
        }
        await api.ok("PUT", "/plans/p", {"budgets": [budget]})
        assert (await api.reserve("r1", "ann", 4)).status_code == 200
        assert (await api.reserve("r2", "ann", 4)).status_code == 402
        key = await api.key("audit")
        found = await api.send("GET", "/accounts/ann/balance", key=key)
        assert found.json()["windows"][0]["reserved"] == 4
        await api.ok("POST", "/settle", {"request_id": "r1", "amounts": {"tokens": 3}})


@pytest.mark.schema("head")
async def test_such_a_service_knows_whether_the_schema_fits(service_url):
    async with in_process(settings_for(service_url)) as api:
        assert (await api.get("/readyz")).status_code == 200
    assert serving._not_ready(service_url) is None


def test_a_login_that_may_not_is_told_what_is_missing(service_url):
    with psycopg.connect(service_url.replace(f"{SERVICE_LOGIN}@", "postgres@")) as connection:
        connection.execute("revoke all on function preauth_api.revision() from preauth_service")
    assert "preauth_service" in str(serving._not_ready(service_url))
