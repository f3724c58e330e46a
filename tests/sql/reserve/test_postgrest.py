"""What a single call tells PostgREST beside its body: the status and the headers to answer with."""

import json

import pytest

from tests.support.money import tokens


async def told(ledger, name):
    return await ledger.connection.fetchval("select current_setting($1, true)", name)


@pytest.fixture
async def under_postgrest(ledger, clock):
    """A connection on which PostgREST has said whose request it is."""
    await ledger.grant("ann")
    await ledger.connection.execute("begin; set local request.method = 'POST'")
    yield ledger
    await ledger.connection.execute("commit")


async def headers(ledger):
    return [
        item for pair in json.loads(await told(ledger, "response.headers")) for item in pair.items()
    ]


async def test_an_authorization_is_a_200_with_its_rate_limit(under_postgrest):
    reply = await under_postgrest.reserve("r1", "ann", tokens(400))
    assert reply["decision"] == "authorized"
    assert await told(under_postgrest, "response.status") == "200"
    sent = await headers(under_postgrest)
    assert ("Content-Type", "application/json; charset=utf-8") in sent
    assert ("RateLimit", '"cap";r=600') in sent


async def test_a_denial_is_its_own_status_as_a_problem(under_postgrest):
    denial = await under_postgrest.reserve("r1", "ann", tokens(1001))
    assert await told(under_postgrest, "response.status") == str(denial["status"]) == "402"
    assert ("Content-Type", "application/problem+json") in await headers(under_postgrest)


async def test_a_refusal_is_its_status(under_postgrest):
    await under_postgrest.settle("nobody", tokens(1))
    assert await told(under_postgrest, "response.status") == "404"


async def test_without_a_request_nothing_is_set(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(1001))
    assert not await told(ledger, "response.status")
