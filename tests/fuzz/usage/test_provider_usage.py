"""Whatever object a provider sends: it is settled exactly, or refused as documented, and never a 500."""

import asyncio
import contextlib
import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.pricing.usage import APIS
from tests.api.client import Api, in_process, settings_for
from tests.support.ledger import Ledger

NIGHTLY = "PREAUTH_TEST_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("PREAUTH_TEST_EXAMPLES", "3")) * 50
PATHS = {name: sorted(api.fields.counts) for name, api in APIS.items()}
COUNTS = st.sampled_from(
    [0, 1, 7, 2**53 - 1, 2**53, 2**63, 2**70, 10**400, -1, True, 7.0, "7", None, [], {}, 1e300]
)
CODES = {
    "malformed",
    "usage_unrecognised",
    "amount_missing",
    "amount_out_of_range",
    "dimension_unpriced",
    "price_missing",
}


@st.composite
def objects(draw: st.DrawFn) -> tuple[str, Any]:
    """An object of the fields that a provider uses, with odd counts in them."""
    api = draw(st.sampled_from(sorted(PATHS)))
    usage: dict[str, Any] = {}
    for path in draw(st.lists(st.sampled_from(PATHS[api]), max_size=6, unique=True)):
        inner = usage
        for step in path[:-1]:
            found = inner.setdefault(step, {})
            inner = found if isinstance(found, dict) else inner
        inner[path[-1]] = draw(COUNTS)
    if draw(st.integers(0, 4)) == 0:
        usage[draw(st.text(max_size=5))] = draw(COUNTS)
    return api, usage


def test_it_is_settled_or_refused_and_a_refusal_writes_nothing(database_url: str) -> None:
    with asyncio.Runner() as runner:
        opened = contextlib.AsyncExitStack()
        api = runner.run(opened.enter_async_context(in_process(settings_for(database_url))))
        ledger = runner.run(Ledger.start(database_url))
        runner.run(furnish(api))
        numbers = iter(range(10**6))

        @settings(
            max_examples=EXAMPLES, deadline=None, derandomize=not NIGHTLY, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(objects())
        def told(read: tuple[str, Any]) -> None:
            runner.run(settle(api, ledger, f"r{next(numbers)}", *read))

        told()
        runner.run(ledger.stop())
        runner.run(opened.aclose())


async def furnish(api: Api) -> None:
    await api.grant("ann", None)
    rates = {
        "input_tokens": {"micro_usd": 1, "per": 1},
        "output_tokens": {"micro_usd": 2, "per": 1},
    }
    await api.ok("POST", "/price-tables", {"model": "m", "rates": rates})


async def settle(api: Api, ledger: Ledger, request_id: str, name: str, usage: Any) -> None:
    bounds = {"max_usage": {"prompt_tokens": 9, "completion_tokens": 9}, "model": "m"}
    await api.ok("POST", "/reserve", {"request_id": request_id, "account_id": "ann", **bounds})
    before = await ledger.movements()
    body = {"request_id": request_id, "provider_usage": {"api": name, "usage": usage}}
    response = await api.post("/settle", body)
    if response.status_code == 200:
        assert response.json()["state"] == "settled"
        return
    code = response.json()["type"].rpartition("/")[2]
    assert code in CODES, (body, response.text)
    assert await ledger.movements() == before
    await api.ok("POST", "/release", {"request_id": request_id, "reason": "not understood"})
