from collections.abc import AsyncIterator

import pytest

from tests.api.client import Api, over_sockets, settings_for


@pytest.fixture
async def served(database_url: str) -> AsyncIterator[Api]:
    """The service on a fresh ledger, behind a real socket."""
    async with over_sockets(settings_for(database_url)) as (api, _):
        yield api
