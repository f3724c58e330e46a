from collections.abc import AsyncIterator

import pytest

from tests.api.client import Api, in_process, over_sockets, settings_for


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[Api]:
    """The service on a fresh ledger, in this process."""
    async with in_process(settings_for(database_url)) as api:
        yield api


@pytest.fixture
async def served(database_url: str) -> AsyncIterator[Api]:
    """The service on a fresh ledger, behind a real socket."""
    async with over_sockets(settings_for(database_url)) as (api, _):
        yield api
