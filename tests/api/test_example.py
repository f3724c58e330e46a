"""Contract, section 8, to the digit, over real sockets."""

import asyncio

from tests.api.client import Api
from tests.support.checks import assert_denied
from tests.support.clock import Clock

FREE = {
    "budgets": [
        {
            "name": "monthly-usd",
            "unit": "usd_nano",
            "window": {"kind": "calendar", "period": "month"},
            "limit_amount": 500000000,
            "enforcement": "hard",
        }
    ]
}


async def spent(api: Api, request_id: str, nano: int) -> None:
    body = {"request_id": request_id, "account_id": "user_42", "amounts": {"usd_nano": nano}}
    await api.ok("POST", "/charge", body)


async def test_two_parallel_reserves_share_what_is_left_and_the_settlement_returns_the_rest(
    served: Api, clock: Clock
) -> None:
    await served.ok("PUT", "/plans/free", FREE)
    await served.ok("PUT", "/accounts/user_42", {"plan_id": "free"})
    await spent(served, "before", 350000000)

    def ask(request_id: str):
        amounts = {"usd_nano": 100000000}
        return served.post(
            "/reserve", {"request_id": request_id, "account_id": "user_42", "amounts": amounts}
        )

    first, second = sorted(
        await asyncio.gather(ask("a"), ask("b")), key=lambda response: response.status_code
    )
    assert (first.status_code, second.status_code) == (200, 429)
    (line,) = first.json()["lines"]
    assert line["available"] == 50000000
    assert_denied(
        second.json(), "budget_exhausted", required=100000000, available=50000000,
        budget="monthly-usd", scope="user_42", window="2026-09", unit="usd_nano", limit=500000000,
        resets_at="2026-10-01T00:00:00.000000Z",
    )  # fmt: skip
    assert second.headers["content-type"] == "application/problem+json"
    assert int(second.headers["retry-after"]) > 0

    winner = first.json()["request_id"]
    settled = await served.ok(
        "POST", "/settle", {"request_id": winner, "amounts": {"usd_nano": 60000000}}
    )
    (line,) = settled["lines"]
    assert (line["settled"], line["reserved"], line["available"]) == (410000000, 0, 90000000)

    (window,) = (await served.ok("GET", "/accounts/user_42/balance"))["windows"]
    figures = {name: window[name] for name in ("limit", "settled", "reserved", "available")}
    assert figures == {
        "limit": 500000000, "settled": 410000000, "reserved": 0, "available": 90000000,
    }  # fmt: skip
