"""The audit over REST: roles, paging, CSV, and what is refused."""

import csv
import io

import pytest

from tests.api.client import Api
from tests.support.checks import assert_problem

QUESTIONS = [
    "decisions", "timeline?request_id=r0", "why-denied?request_id=no", "stuck", "exceptions",
    "spend?since=2026-01-01T00:00:00Z&until=2036-01-01T00:00:00Z", "adjustments", "changes", "verify",
    "prices?since=2026-01-01T00:00:00Z&until=2036-01-01T00:00:00Z",
]  # fmt: skip


@pytest.fixture(autouse=True)
async def history(api: Api) -> None:
    await api.grant("ann", 1000)
    for n in range(5):
        await api.reserve(f"r{n}", "ann", 100, labels={"team": 'a "quoted", one'})
    await api.reserve("no", "ann", 600)
    await api.ok("POST", "/settle", {"request_id": "r0", "amounts": {"tokens": 150}})


async def asked(api: Api, question: str, **params: str) -> list[dict]:
    response = await api.get(f"/audit/{question}", params=params or None)
    assert response.status_code == 200, response.text
    return response.json()["items"]


@pytest.mark.parametrize("question", QUESTIONS)
async def test_only_auditors_and_administrators_may_ask(api: Api, question: str) -> None:
    spender, auditor = await api.key("spend"), await api.key("audit")
    assert (await api.get(f"/audit/{question}", key=auditor)).status_code == 200
    assert_problem((await api.get(f"/audit/{question}", key=spender)).json(), 403, "forbidden")
    assert (await api.get(f"/audit/{question}", key=None)).status_code == 401


@pytest.mark.parametrize("question", QUESTIONS)
async def test_every_list_comes_as_csv_too(api: Api, question: str) -> None:
    items = await asked(api, question)
    mark = "&" if "?" in question else "?"
    by_format = await api.get(f"/audit/{question}{mark}format=csv")
    by_header = await api.get(f"/audit/{question}", headers={"Accept": "text/csv"})
    assert by_format.text == by_header.text
    assert by_format.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(by_format.text)))
    assert len(rows) == len(items)
    for row, item in zip(rows, items, strict=True):
        assert set(row) == set(item)
        assert {k: v for k, v in row.items() if isinstance(item[k], str)} == {
            k: v for k, v in item.items() if isinstance(v, str)
        }


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1", "@sum"])
async def test_a_callers_text_is_no_formula_in_a_sheet(api: Api, label: str) -> None:
    charge = {"request_id": "lab", "account_id": "ann", "amounts": {"tokens": 1}}
    answer = await api.post("/charge", {**charge, "labels": {"team": label}})
    assert answer.status_code == 200, answer.text
    question = (
        "/audit/spend?since=2026-01-01T00:00:00Z&until=2099-01-01T00:00:00Z&by=label&label=team"
    )
    items = (await api.get(question)).json()["items"]
    rows = list(csv.DictReader(io.StringIO((await api.get(f"{question}&format=csv")).text)))
    assert label in [item["label"] for item in items]
    assert f"'{label}" in [row["label"] for row in rows]


async def test_a_list_is_read_page_by_page_through_its_link(api: Api) -> None:
    seen, url = [], "/audit/decisions?max_count=2&account_id=ann&format=csv"
    while url:
        response = await api.get(url)
        seen += [row["request_id"] for row in csv.DictReader(io.StringIO(response.text))]
        link = response.headers.get("link", "")
        url = link.partition("<")[2].partition(">")[0]
    assert seen == ["no", "r4", "r3", "r2", "r1", "r0"]


async def test_decisions_are_found_by_what_is_known(api: Api) -> None:
    assert [d["request_id"] for d in await asked(api, "decisions", reason="budget_exhausted")] == [
        "no"
    ]
    assert (
        len(await asked(api, "decisions", decision="authorized", until="2026-01-01T00:00:00Z")) == 0
    )
    assert len(await asked(api, "decisions", since="2026-01-01T01:00:00+02:00")) == 6


async def test_the_holds_that_used_the_room_are_shown(api: Api) -> None:
    found = (await api.get("/audit/why-denied?request_id=no")).json()
    assert [h["request_id"] for h in found["items"]] == ["r4", "r3", "r2", "r1", "r0"]
    assert found["denial"]["available"] == 500


async def test_spend_is_summed_by_several_things(api: Api) -> None:
    (row,) = await asked(
        api, "spend", since="2026-01-01T00:00:00Z", until="2036-01-01T00:00:00Z", by="label,account", label="team"
    )  # fmt: skip
    assert (row["label"], row["account_id"], row["amount"]) == ('a "quoted", one', "ann", 150)


SINCE = "since=2026-01-01T00:00:00Z"
PERIOD = f"{SINCE}&until=2036-01-01T00:00:00Z"
PAGES = ("decisions", "stuck", "exceptions", "adjustments", "changes")


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("decisions?since=yesterday", "query.since"),
        ("decisions?since=2026-01-01", "query.since"),
        ("decisions?until=2026-01-01T00:00:00", "query.until"),
        ("decisions?until=2026-02-30T00:00:00Z", "query.until"),
        ("decisions?max_count=0", "query.max_count"),
        ("decisions?max_count=501", "query.max_count"),
        ("decisions?max_count=1.5", "query.max_count"),
        ("decisions?account_id=a%20b", "query.account_id"),
        ("decisions?account_id=a%0A", "query.account_id"),
        ("decisions?decision=perhaps", "query.decision"),
        ("decisions?cursor=", "query.cursor"),
        ("decisions?cursor=nonsense", "query.cursor"),
        ("decisions?cursor=%00", "query.cursor"),
        ("decisions?format=xml", "query.format"),
        ("decisions?color=red", "query.color"),
        ("timeline", "query.request_id"),
        ("why-denied", "query.request_id"),
        ("stuck?older_than_seconds=-1", "query.older_than_seconds"),
        ("exceptions?kind=odd", "query.kind"),
        *((f"{page}?cursor=nonsense", "query.cursor") for page in PAGES),
        ("spend", "query.since"),
        (f"spend?{SINCE}", "query.until"),
        (f"spend?{SINCE}&until=2025-01-01T00:00:00Z", "query.until"),
        (f"spend?{PERIOD}&by=zz", "query.by"),
        (f"spend?{PERIOD}&by=label", "query.label"),
        (f"spend?{PERIOD}&label=team", "query.label"),
        (f"spend?{PERIOD}&time_zone=Nope", "query.time_zone"),
        (f"spend?{PERIOD}&cursor=nonsense", "query.cursor"),
        ("prices", "query.since"),
        (f"prices?{SINCE}&until=2025-01-01T00:00:00Z", "query.until"),
        (f"prices?{PERIOD}&cursor=nonsense", "query.cursor"),
        ("verify?cursor=x", "query.cursor"),
    ],
)
async def test_a_question_that_makes_no_sense_is_named(api: Api, question: str, path: str) -> None:
    problem = (await api.get(f"/audit/{question}")).json()
    assert_problem(problem, 400, "malformed")
    assert problem["errors"][0]["path"] == path
    assert problem["detail"].startswith(f"{path}: ")


async def test_all_that_the_ledger_finds_wrong_with_a_question_is_named(api: Api) -> None:
    problem = (await api.get("/audit/spend?by=zz&cursor=nonsense")).json()
    assert problem["errors"] == [
        {"path": "query.cursor", "message": "must be the next_cursor of the page before"},
        {"path": "query.since", "message": "is required"},
        {"path": "query.until", "message": "is required"},
        {"path": "query.by", "message": "must name day, account, model or label"},
    ]


async def test_what_is_not_there_is_a_404_in_json_even_for_csv(api: Api) -> None:
    response = await api.get("/audit/timeline?request_id=none&format=csv")
    assert response.headers["content-type"].startswith("application/problem+json")
    assert_problem(response.json(), 404, "reservation_unknown")
    assert_problem((await api.get("/audit/why-denied?request_id=r0")).json(), 409, "not_denied")


@pytest.mark.parametrize("offset", ["+15:59", "-21:54", "+23:59"])
async def test_a_time_may_have_any_offset_of_rfc_3339(api: Api, offset: str) -> None:
    assert await asked(api, "decisions", since=f"2026-01-01T00:00:00{offset}")
    assert await asked(api, "decisions", until=f"2036-01-01T00:00:00.5{offset}")


async def test_a_time_before_the_year_1_in_utc_is_a_400(api: Api) -> None:
    response = await api.get("/audit/decisions", params={"since": "0001-01-01T00:00:00+12:00"})
    assert_problem(response.json(), 400, "malformed")
