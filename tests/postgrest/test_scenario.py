"""One scenario, told over REST, over PostgREST and over SQL: the same JSON three times.

The clock stands still but where the scenario moves it, so that times are the same too. What may
differ is who acted, numbers that the database makes up, and the wording of a 400.
"""

import re

import httpx
import pytest

from tests.api.client import in_process, settings_for
from tests.support import databases
from tests.support.clock import Clock
from tests.support.ledger import Ledger
from tests.support.money import MONTH, budget, tokens, usd
from tests.support.postgrest import PostgREST
from tests.support.speakers import OverPostgREST, OverRest, OverSql

MADE_UP = {"actor", "window_id", "change_id", "key"}
MONTHLY = budget("monthly-usd", 500, "usd_nano", MONTH)
TIMES = {"since": "2026-09-14T00:00:00Z", "until": "2026-09-20T00:00:00Z"}


def wait(seconds):
    return ("wait", {"seconds": seconds})


def r(call, request_id, **more):
    return (call, {"request_id": request_id, **more})


def ann(call, request_id, amounts, **more):
    return r(call, request_id, account_id="ann", amounts=amounts, **more)


SCENARIO = [
    # an organisation, its plan, its people
    ("put_plan", {"plan_id": "free", "body": {"budgets": [MONTHLY]}}),
    ("put_plan", {"plan_id": "free", "body": {"budgets": "none"}}),
    ("plan", {"plan_id": "free"}),
    ("plan", {"plan_id": "gold"}),
    ("put_account", {"account_id": "org", "body": {}}),
    ("put_budget", {"account_id": "org", "name": "shared", "body": budget(limit=10_000)}),
    ("put_account", {"account_id": "ann", "body": {"plan_id": "free", "parent_id": "org"}}),
    ("put_account", {"account_id": "bob", "body": {"parent_id": "nobody"}}),
    ("put_account", {"account_id": "org", "body": {"parent_id": "ann"}}),
    ("put_account", {"account_id": "bob", "body": {"parent_id": "org", "time_zone": "Asia/Tokyo"}}),
    ("put_budget", {"account_id": "bob", "name": "lease", "body": budget(limit=100, on_expiry="release")}),
    ("put_budget", {"account_id": "ann", "name": "Bad Name", "body": budget(limit=1)}),
    ("put_budget", {"account_id": "ann", "name": "strict", "body": budget(limit=1000, overage="reject")}),
    ("account", {"account_id": "ann"}),
    ("account", {"account_id": "nobody"}),
    # holds, denials, replays, conflicts
    ann("reserve", "r1", {**tokens(100), **usd(300)}, model="small", labels={"team": "x"}, session_id="s1"),
    ann("reserve", "r1", {**tokens(100), **usd(300)}, model="small", labels={"team": "x"}, session_id="s1"),
    ann("reserve", "r1", {**tokens(101), **usd(300)}),
    ann("reserve", "r2", {**tokens(100), **usd(201)}),
    ann("reserve", "r2", {**tokens(100), **usd(201)}),
    ann("reserve", "r3", {**tokens(5000), **usd(1)}),
    ann("reserve", "r4", usd(1)),
    ann("reserve", "r5", {**tokens(1), **usd(1.5)}),
    ann("reserve", "r6", {**tokens(1), **usd(2**53)}),
    ann("reserve", "r 7", tokens(1)),
    r("reserve", "r8", amounts=tokens(1)),
    r("reserve", "r9", account_id="nobody", amounts=tokens(1)),
    ann("reserve", "r10", {**tokens(1), **usd(0)}, dry_run=True),
    ann("reserve", "r11", {**tokens(1), **usd(900)}, alternatives=[{"model": "tiny", "amounts": {**tokens(1), **usd(9)}}]),
    ann("reserve", "r12", {**tokens(1), **usd(1)}, ttl_seconds=0),
    # settlements
    r("settle", "r1", amounts={**tokens(80), **usd(250)}, provider_request_id="p-1"),
    r("settle", "r1", amounts={**tokens(80), **usd(250)}, provider_request_id="p-1"),
    r("settle", "r1", amounts={**tokens(81), **usd(250)}),
    r("settle", "r2", amounts=tokens(1)),
    r("settle", "unknown", amounts=tokens(1)),
    r("settle", "r11", amounts=tokens(1)),
    r("settle", "r11", outcome="unknown"),
    r("settle", "r11", amounts={**tokens(2), **usd(9)}),
    r("resolve", "r11", action="accept_overage", reason="billed"),
    r("resolve", "r11", action="burn", reason="x"),
    # releases, extensions, cancellations, leases
    r("reserve", "b1", account_id="bob", amounts=tokens(60), ttl_seconds=60),
    r("extend", "b1", ttl_seconds=90),
    r("cancel", "b1"),
    r("cancel", "b1"),
    wait(30),
    r("reserve", "b2", account_id="bob", amounts=tokens(60)),
    wait(61),
    r("reserve", "b3", account_id="bob", amounts=tokens(90), ttl_seconds=60),
    r("extend", "b1", ttl_seconds=10),
    r("settle", "b1", amounts=tokens(30)),
    r("release", "b3", reason="not sent"),
    r("release", "b3", reason="not sent"),
    r("release", "b3"),
    r("release", "r1", reason="too late"),
    # charges
    ann("charge", "c1", {**tokens(5), **usd(5)}),
    ann("charge", "c2", {**tokens(5), **usd(5000)}),
    ann("charge", "c3", {**tokens(5), **usd(5000)}, record=True),
    r("charge", "b1", account_id="ann", amounts={**tokens(1), **usd(0)}),
    r("release", "b1", reason="which one?"),
    # what is left, and what happened
    ("balance", {"account_id": "ann"}),
    ("balance", {"account_id": "nobody"}),
    r("reservation", "r1"),
    r("reservation", "b1"),
    r("reservation", "b1", account_id="bob"),
    ("put_budget", {"account_id": "ann", "name": "strict", "body": budget(limit=50, reason="less")}),
    ("delete_budget", {"account_id": "bob", "name": "lease"}),
    ("delete_budget", {"account_id": "bob", "name": "lease"}),
    ("audit_decisions", {"account_id": "ann", "decision": "denied"}),
    ("audit_decisions", {"max_count": 3}),
    ("audit_decisions", {"max_count": 900}),
    r("audit_timeline", "r11"),
    r("audit_why_denied", "r2"),
    r("audit_why_denied", "b2"),
    r("audit_why_denied", "r1"),
    ("audit_stuck", {}),
    ("audit_exceptions", {}),
    ("audit_spend", {**TIMES, "by": ["model", "label"], "label": "team"}),
    ("audit_adjustments", {}),
    ("audit_changes", {"subject": "budget"}),
    ("audit_verify", {}),
]  # fmt: skip


def comparable(said):
    """Without what the database makes up; of a 400 only what is wrong where."""
    body = said.body
    if said.status == 400:
        paths = sorted(re.sub(r"^query\.", "", e["path"]) for e in body["errors"])
        return said.status, {"type": body["type"], "title": body["title"], "paths": paths}
    return said.status, _without_made_up(body)


def _without_made_up(value):
    if isinstance(value, dict):
        return {k: _without_made_up(v) for k, v in value.items() if k not in MADE_UP}
    if isinstance(value, list):
        return [_without_made_up(v) for v in value]
    return value


async def told(speaker, clock):
    answers = []
    for call, arguments in SCENARIO:
        if call == "wait":
            clock.advance(**arguments)
        else:
            answers.append((call, arguments, *comparable(await speaker.say(call, arguments))))
    return answers


@pytest.fixture
async def over_sql(database_url, clock):
    ledger = await Ledger.start(database_url)
    await ledger.connection.reset_type_codec("jsonb", schema="pg_catalog")
    answers = await told(OverSql(ledger.connection), clock)
    await ledger.stop()
    return answers


@pytest.fixture
def other_database(cluster):
    """A ledger of its own, with a clock of its own."""
    source = databases.template(cluster, databases.DEFAULT_SCHEMA)
    with databases.temporary(cluster, source) as url:
        clock = Clock(url)
        yield url, clock
        clock.close()
        assert databases.mismatches(url) == []


def test_the_scenario_is_long_and_meets_most_of_what_there_is(over_sql):
    assert len(over_sql) >= 60
    statuses = {status for _, _, status, _ in over_sql}
    assert statuses == {200, 400, 402, 404, 409, 422, 429}
    problems = {body.get("type", "").rpartition("/")[2] for *_, body in over_sql}
    assert {
        "denied",
        "request_id_conflict",
        "settlement_conflict",
        "hold_lapsed",
        "not_denied",
    } <= problems


async def test_rest_answers_as_sql_does(over_sql, other_database):
    url, clock = other_database
    async with in_process(settings_for(url)) as api:
        over_rest = await told(OverRest(api), clock)
    for one, other in zip(over_rest, over_sql, strict=True):
        assert one == other


async def test_postgrest_answers_as_sql_does(over_sql, other_database):
    url, clock = other_database
    with PostgREST(url).running() as base:
        async with httpx.AsyncClient(base_url=base, timeout=60) as http:
            over_postgrest = await told(OverPostgREST(http), clock)
    for one, other in zip(over_postgrest, over_sql, strict=True):
        assert one == other
