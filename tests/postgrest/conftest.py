from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.postgrest import Client, JavaScript, PostgREST, Python, token


@pytest.fixture
def postgrest_url(database_url: str) -> Iterator[str]:
    """PostgREST in front of a fresh ledger."""
    with PostgREST(database_url).running() as url:
        yield url


@pytest.fixture(params=[JavaScript, Python], ids=["postgrest-js", "postgrest-py"])
async def client(request: pytest.FixtureRequest, postgrest_url: str) -> AsyncIterator[Client]:
    """Each of the clients that people use."""
    async with request.param.opened(postgrest_url) as client:
        yield client


@pytest.fixture
def service_key() -> str:
    """Supabase's service key: a JWT of service_role."""
    return token("service_role")
