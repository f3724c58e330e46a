"""Metrics and log lines: what is measured, and what must never be in them."""

import asyncio
import json
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.api.calls import REASONS
from service.api.problems import CODES
from service.ledger import CALLS, StoreUnavailable
from tests.api.client import Api, in_process, settings_for

SECRET = "org-secret:99"
LABELS = {
    "route": None, "method": {"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "other"},
    "status": None, "le": None, "call": set(CALLS),
    "outcome": {"authorized", "done", "denied", "refused", "delivered", "failed"},
    "reason": {"none", "other", *REASONS, *CODES}, "cause": set(StoreUnavailable.CAUSES),
    "result": {"found", "unknown", "cached"},
    "job": {"expiry", "alerts", "stuck", "scripted"},  # the last is of tests/jobs
    "kind": {"overage", "late", "recorded", "review"}, "state": {"unknown", "overage_review"},
}  # fmt: skip


async def exercise(api: Api) -> None:
    await api.grant(SECRET)
    key = await api.ok("POST", "/keys", {"name": SECRET, "role": "spend"})
    labels = {"team": SECRET}
    await api.reserve(f"{SECRET}/1", SECRET, 400, key=key["secret"], labels=labels, model=SECRET)
    await api.reserve(f"{SECRET}/2", SECRET, 4000, labels=labels)
    await api.post(
        "/settle",
        {"request_id": f"{SECRET}/1", "amounts": {"tokens": 1}, "provider_request_id": SECRET},
    )
    await api.post("/settle", {"request_id": f"{SECRET}/1", "amounts": {"tokens": 2}})
    await api.get(f"/accounts/{SECRET}/balance?x={SECRET}")
    await api.get(f"/{SECRET}")
    await api.send(SECRET.partition(":")[0].upper(), "/reserve")
    await api.post("/reserve", {SECRET: SECRET})


async def test_every_label_is_from_a_closed_set(api: Api) -> None:
    await exercise(api)
    routes = {re.sub(r":\w+\}", "}", route.path) for route in api.app.routes}
    routes |= {"unmatched", *api.app.calls}
    text = (await api.get("/metrics")).text
    assert SECRET not in text
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            for name, value in sample.labels.items():
                assert name in LABELS, sample
                allowed = routes if name == "route" else LABELS[name]
                assert allowed is None or value in allowed, sample
                assert name != "status" or re.fullmatch(r"[1-5]\d\d", value)


async def test_decisions_are_counted_by_call_outcome_and_reason(api: Api) -> None:
    async def count(call: str, outcome: str, reason: str) -> float:
        text = (await api.get("/metrics")).text
        wanted = {"call": call, "outcome": outcome, "reason": reason}
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == "preauth_decisions_total" and sample.labels == wanted
        )

    kinds = [
        ("reserve", "authorized", "none"),
        ("reserve", "denied", "exceeds_limit"),
        ("settle", "done", "none"),
        ("settle", "refused", "settlement_conflict"),
    ]
    before = [await count(*kind) for kind in kinds]
    await exercise(api)
    assert [await count(*kind) - was for kind, was in zip(kinds, before, strict=True)] == [
        1,
        1,
        1,
        1,
    ]


async def test_one_json_line_a_request_with_ids_and_no_content(
    database_url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with in_process(settings_for(database_url, log_level="info")) as api:
        capfd.readouterr()
        await exercise(api)
        await api.reserve("r", SECRET, 1, headers={"X-Request-Id": "mine-1", "traceparent": trace})
        await asyncio.sleep(0)  # access lines are written once a turn of the loop
        out = capfd.readouterr().out
    lines = [json.loads(line) for line in out.splitlines()]
    assert SECRET not in out
    assert "preauth_" not in out
    assert len([line for line in lines if line["event"] == "request"]) == 12
    last = lines[-1]
    assert (last["route"], last["method"], last["status"]) == ("/reserve", "POST", 200)
    assert (last["request_id"], last["traceparent"]) == ("mine-1", trace)
    assert last["milliseconds"] > 0
    named = ["event", "level", "timestamp", "method", "route", "status", "milliseconds"]
    assert list(last) == [*named, "request_id", "traceparent"]
    assert list(lines[0]) == [*named, "request_id"]  # nothing stands for what was not sent


@pytest.mark.parametrize("sent", ["", "a b", "x" * 65, 'a"b', "ä", None])
async def test_an_ill_formed_request_id_is_replaced(api: Api, sent: str | None) -> None:
    headers = {} if sent is None else {"X-Request-Id": sent.encode("latin-1")}
    response = await api.http.get("/healthz", headers=headers)
    assert re.fullmatch(r"[0-9a-f]{32}", response.headers["x-request-id"])


async def test_a_well_formed_request_id_is_echoed_on_errors_too(api: Api) -> None:
    for path in ("/healthz", "/nope", "/keys"):
        response = await api.get(path, key=None, headers={"X-Request-Id": "mine-1"})
        assert response.headers["x-request-id"] == "mine-1"
