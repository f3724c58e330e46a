"""What needs an owner is in /metrics: spend that was not as authorized, and stuck holds."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.api.client import Api, over_sockets, settings_for
from tests.support.ledger import Ledger
from tests.support.waits import until

EXCEPTIONS = "preauth_exceptions_total"


async def series(api: Api, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a metric, by the values of their labels in the order of the names."""
    return {
        tuple(sample.labels[label] for label in sorted(sample.labels)): sample.value
        for family in text_string_to_metric_families((await api.get("/metrics")).text)
        for sample in family.samples
        if sample.name == name
    }


class Counted:
    """What `EXCEPTIONS` has grown by since it was made."""

    def __init__(self, api: Api, before: dict[tuple[str, ...], float]) -> None:
        self.api, self.before = api, before

    @classmethod
    async def since_now(cls, api: Api) -> "Counted":
        return cls(api, await series(api, EXCEPTIONS))

    async def grown(self) -> dict[tuple[str, ...], float]:
        after = await series(self.api, EXCEPTIONS)
        return {key: n - self.before[key] for key, n in after.items() if n != self.before[key]}


@pytest.fixture
async def counted(served: Api) -> Counted:
    await served.grant("ann")
    return await Counted.since_now(served)


def settlement(request_id: str, tokens: int) -> dict[str, Any]:
    return {"request_id": request_id, "account_id": "ann", "amounts": {"tokens": tokens}}


async def test_each_series_is_there_before_anything_has_happened(served: Api) -> None:
    assert set(await series(served, EXCEPTIONS)) == {
        *((call, kind) for call in ("settle", "resolve") for kind in ("overage", "late", "review")),
        ("charge", "recorded"),
    }


async def test_what_is_spent_as_authorized_is_none(served: Api, counted: Counted) -> None:
    await served.reserve("r1", "ann", 10)
    await served.ok("POST", "/settle", settlement("r1", 10))
    await served.ok("POST", "/charge", settlement("c1", 10))
    await served.reserve("r2", "ann", 10)
    await served.ok("POST", "/settle", {"request_id": "r2", "outcome": "unknown"})
    assert await counted.grown() == {}


async def test_a_settlement_above_its_hold_is_an_overage(served: Api, counted: Counted) -> None:
    await served.reserve("r1", "ann", 10)
    await served.ok("POST", "/settle", settlement("r1", 11))
    assert await counted.grown() == {("settle", "overage"): 1}


async def test_a_settlement_after_a_release_is_late(served: Api, counted: Counted) -> None:
    await served.reserve("r1", "ann", 10)
    await served.ok("POST", "/release", {"request_id": "r1", "reason": "refused"})
    await served.ok("POST", "/settle", settlement("r1", 10))
    assert await counted.grown() == {("settle", "late"): 1}


async def test_one_that_is_late_and_above_its_hold_is_both(served: Api, counted: Counted) -> None:
    await served.reserve("r1", "ann", 10)
    await served.ok("POST", "/release", {"request_id": "r1", "reason": "refused"})
    await served.ok("POST", "/settle", settlement("r1", 11))
    assert await counted.grown() == {("settle", "late"): 1, ("settle", "overage"): 1}


async def test_each_item_of_a_batch_is_counted_and_so_is_each_repetition(
    served: Api, counted: Counted
) -> None:
    for n in range(3):
        await served.reserve(f"r{n}", "ann", 10)
    batch = [settlement("r0", 11), settlement("r1", 12), settlement("r2", 10)]
    for _ in range(2):
        assert (await served.post("/settle", batch)).status_code == 207
    assert await counted.grown() == {("settle", "overage"): 4}


async def test_an_overage_that_is_refused_is_under_review_until_it_is_accepted(
    served: Api, counted: Counted
) -> None:
    await served.grant("ann", overage="reject")
    await served.reserve("r1", "ann", 10)
    assert (await served.post("/settle", settlement("r1", 11))).status_code == 409
    assert await counted.grown() == {("settle", "review"): 1}
    for call, more in (("release", {"reason": "refused"}), ("extend", {"ttl_seconds": 60})):
        answer = await served.post(f"/{call}", {"request_id": "r1", **more})
        assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (
            409,
            "settlement_exceeds_hold",
        )
    decision = {"action": "accept_overage", "reason": "it was spent"}
    await served.ok("POST", "/reservations/r1/resolve", decision)
    assert await counted.grown() == {("settle", "review"): 1, ("resolve", "overage"): 1}


async def test_a_charge_without_a_decision_is_recorded(served: Api, counted: Counted) -> None:
    await served.ok("POST", "/charge", settlement("c1", 5000) | {"record": True})
    assert await counted.grown() == {("charge", "recorded"): 1}


async def test_no_text_of_a_caller_counts(served: Api, counted: Counted) -> None:
    await served.reserve("r1", "ann", 10)
    reason = 'x", "late": true, "overage": {"tokens": 1}, "recorded": true'
    await served.ok("POST", "/reservations/r1/resolve", {"action": "release", "reason": reason})
    assert await counted.grown() == {}


@pytest.fixture
async def watched(database_url: str) -> AsyncIterator[Api]:
    """The service behind a socket, looking for stuck holds all the time."""
    settings = settings_for(database_url, stuck_interval_seconds=0.02, expiry_interval_seconds=0.02)
    async with over_sockets(settings) as (api, _):
        yield api


async def test_stuck_holds_are_shown_by_state_with_the_age_of_the_oldest(
    watched: Api, ledger: Ledger, clock: Any
) -> None:
    async def shown(*wanted: tuple[int, int]) -> None:
        states = [("unknown",), ("overage_review",)]

        async def is_shown() -> bool:
            counts = await series(watched, "preauth_stuck_holds")
            ages = await series(watched, "preauth_stuck_oldest_seconds")
            return [(counts.get(s), ages.get(s)) for s in states] == list(wanted)

        await until(is_shown, f"it shows {wanted}")

    await watched.grant("ann", overage="reject")
    await shown((0, 0), (0, 0))
    for request_id in ("kept", "over", "open", "stopped", "unknown"):
        ttl = 60 if request_id in {"kept", "stopped"} else 86400
        await watched.reserve(request_id, "ann", 10, ttl_seconds=ttl)
    clock.advance(seconds=30)
    await watched.ok("POST", "/cancel", {"request_id": "stopped"})
    await watched.ok("POST", "/settle", {"request_id": "unknown", "outcome": "unknown"})
    assert (await watched.post("/settle", settlement("over", 11))).status_code == 409
    await shown((1, 30), (1, 30))
    clock.advance(seconds=30)
    await shown((3, 60), (1, 60))  # whose time is up, cancellation requested or not, is unknown

    decision = {"action": "release", "reason": "nothing was billed"}
    for request_id in ("kept", "over", "stopped", "unknown"):
        await watched.ok("POST", f"/reservations/{request_id}/resolve", decision)
    await shown((0, 0), (0, 0))


async def test_of_many_stuck_holds_the_oldest_hundred_are_counted(
    watched: Api, ledger: Ledger
) -> None:
    await watched.grant("ann")
    names = [f"r{n}" for n in range(101)]
    await watched.post("/reserve", [settlement(name, 1) for name in names])
    await watched.post("/settle", [{"request_id": name, "outcome": "unknown"} for name in names])

    async def is_full() -> bool:
        return (await series(watched, "preauth_stuck_holds")).get(("unknown",)) == 100

    await until(is_full, "a hundred are shown")
