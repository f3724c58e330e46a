"""Afterwards: is the ledger what its acknowledgements add up to?"""

import asyncio
from collections import Counter
from collections.abc import Iterator

import httpx
import psycopg

from tests.e2e.campaign.client import Answer, Client, Json, Log

__all__ = ["expected_windows", "found_windows", "inside_the_database", "send_all_again"]

Window = tuple[str, str]
"""(account, unit)"""

UNITS = ("usd_nano", "tokens", "requests")
PARALLEL = 32


async def send_all_again(client: Client, log: Log) -> int:
    """Send every acknowledged call once more: each must be found as it was acknowledged."""
    gate = asyncio.Semaphore(PARALLEL)

    async def again(call: str, body: Json, first: Answer) -> None:
        async with gate:
            response = await client.post(call, body)
        if Answer.of(response) != first or not response.json().get("replayed"):
            log.fault(f"acknowledged {call} {body} as {first}, now {response.text}")

    calls = [(call, body, first) for (call, _), (body, first) in log.answers.items()]
    await asyncio.gather(*(again(*call) for call in calls))
    return len(calls)


def expected_windows(log: Log) -> tuple[Counter[Window], Counter[Window]]:
    """Settled and reserved of every account's window, from the acknowledgements alone."""
    settled: Counter[Window] = Counter()
    reserved: Counter[Window] = Counter()
    for (call, request_id), (body, answer) in log.answers.items():
        if answer.status != httpx.codes.OK or call not in {"reserve", "charge"}:
            continue
        counter, amounts = _where_it_is(log, call, request_id, body)
        if counter is not None:
            (settled if counter == "settled" else reserved).update(_windows(body, amounts))
    return settled, reserved


def _where_it_is(log: Log, call: str, request_id: str, body: Json) -> tuple[str | None, Json]:
    """In which counter the money of an authorized id is now, and how much."""
    if call == "charge":
        return "settled", body["amounts"]
    if ("settle", request_id) in log.answers:
        return "settled", log.answers["settle", request_id][0]["amounts"]
    if ("release", request_id) in log.answers:
        return None, {}
    return "reserved", body["amounts"]


def _windows(body: Json, amounts: Json) -> Counter[Window]:
    own = {(body["account_id"], unit): amount for unit, amount in amounts.items()}
    root = {("root", unit): amount for unit, amount in amounts.items()}
    return Counter({**own, **root, (body["account_id"], "requests"): 1, ("root", "requests"): 1})


async def found_windows(http: httpx.AsyncClient, accounts: list[str], log: Log) -> Json:
    """The windows as ``GET /accounts/{id}/balance`` shows them; none may exceed a hard limit."""
    found: Json = {}
    for account in accounts:
        for window in (await http.get(f"/accounts/{account}/balance")).json()["windows"]:
            if window["scope"] == account:
                found[account, window["unit"]] = window
                log.expect(
                    window["settled"] + window["reserved"] <= window["limit"],
                    f"over its limit: {window}",
                )
    return found


def inside_the_database(url: str) -> Iterator[str]:
    """Faults that only SQL can see: ``verify()``, and ids that moved money twice."""
    with psycopg.connect(url) as connection:
        for row in connection.execute("select * from preauth_api.verify()"):
            yield f"verify() finds {row}"
        for row in connection.execute(
            "select account_id, request_id, count(*) from preauth.usage_event"
            " where window_id is null group by 1, 2 having count(*) > 1"
        ):
            yield f"moved money more than once: {row}"
        for row in connection.execute(
            "select w.account_id, w.window_key, w.settled, w.reserved, w.limit_amount"
            " from preauth.budget_window w where w.settled + w.reserved > w.limit_amount"
        ):
            yield f"over its limit: {row}"
