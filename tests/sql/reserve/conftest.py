"""What the tests of prices begin with."""

import pytest

from tests.support.money import DOLLAR
from tests.support.prices import publish


@pytest.fixture
async def rich(ledger):
    """ann has a dollar, and a price is published."""
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    return await publish(ledger)
