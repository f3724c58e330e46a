"""Who may do what."""

import pytest

from service.api.auth import digest
from tests.api.client import ADMIN_KEY, Api, in_process, over_sockets, settings_for
from tests.support.checks import assert_problem
from tests.support.ledger import Ledger

RESERVE = {"request_id": "r", "account_id": "a", "amounts": {"tokens": 1}}

WRITES = [
    ("POST", "/reserve", RESERVE),
    ("POST", "/settle", {"request_id": "none", "amounts": {"tokens": 1}}),
    ("POST", "/release", {"request_id": "none", "reason": "x"}),
    ("POST", "/extend", {"request_id": "none", "ttl_seconds": 5}),
    ("POST", "/cancel", {"request_id": "none"}),
    ("POST", "/charge", {**RESERVE, "request_id": "c"}),
]
BALANCE = [("GET", "/accounts/a/balance", None)]
READS = [
    ("GET", "/reservations/r", None),
    ("GET", "/accounts/a", None),
    ("GET", "/plans/p", None),
    ("GET", "/price-tables", None),
    ("GET", "/price-tables/7", None),
    ("GET", "/keys", None),
    ("GET", "/audit/decisions", None),
]
ADMINISTRATION = [
    ("PUT", "/plans/p", {"budgets": []}),
    ("PUT", "/accounts/a", {}),
    (
        "PUT",
        "/accounts/a/budgets/x",
        {"unit": "u", "window": {"kind": "lifetime"}, "limit_amount": 1},
    ),
    ("DELETE", "/accounts/a/budgets/x", None),
    ("POST", "/price-tables", {"model": "m", "rates": {"requests": {"micro_usd": 1, "per": 1}}}),
    (
        "POST",
        "/price-tables/rerate",
        {
            "wrong_table": 7,
            "right_table": 8,
            "since": "2026-09-01T00:00:00Z",
            "until": "2026-10-01T00:00:00Z",
        },
    ),
    ("POST", "/keys", {"name": "n", "role": "spend"}),
    ("DELETE", "/keys/none", None),
    ("POST", "/reservations/none/resolve", {"action": "release", "reason": "x"}),
]
EVERYTHING = WRITES + BALANCE + READS + ADMINISTRATION
MAY = {"spend": WRITES + BALANCE, "audit": BALANCE + READS, "admin": EVERYTHING}


@pytest.mark.parametrize("role", MAY)
async def test_a_role_may_do_what_it_is_for_and_nothing_else(api: Api, role: str) -> None:
    await api.grant("a")
    key = await api.key(role)
    for operation in EVERYTHING:
        method, path, body = operation
        response = await api.send(method, path, body, key=key)
        forbidden = response.status_code == 403
        assert forbidden == (operation not in MAY[role]), (role, method, path, response.text)
        assert response.status_code not in {401, 500}, (role, method, path)


async def test_an_auditor_may_make_every_read_and_nothing_else(api: Api) -> None:
    """The contract's section 6, for whatever is served."""
    key = await api.key("audit")
    for path, methods in (await api.ok("GET", "/openapi.json"))["paths"].items():
        for method, operation in methods.items():
            if operation.get("security") != []:
                response = await api.send(
                    method.upper(), path.replace("}", "").replace("{", ""), key=key
                )
                assert (response.status_code != 403) == (method == "get"), (method, path)


async def test_an_auditor_sees_whose_a_key_is_and_never_its_secret(api: Api) -> None:
    made = await api.ok("POST", "/keys", {"name": "chat backend", "role": "spend"})
    response = await api.get("/keys", key=await api.key("audit"))
    assert [key["name"] for key in response.json()] == ["chat backend", "test"]
    assert made["secret"] not in response.text
    assert digest(made["secret"].encode()).hex() not in response.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer unknown"},
        {"Authorization": f"Bearer {ADMIN_KEY}x"},
        {"Authorization": "Bearer " + "x" * 600},
        {"Authorization": ADMIN_KEY},
    ],
)
async def test_without_a_valid_key_nothing_is_served(api: Api, headers: dict[str, str]) -> None:
    for method, path, body in EVERYTHING:
        response = await api.send(method, path, body, key=None, headers=headers)
        assert response.status_code == 401, (method, path)
        assert response.headers["www-authenticate"].startswith("Bearer")
        assert_problem(response.json(), 401, "unauthenticated")


@pytest.mark.parametrize(
    "path", ["/healthz", "/metrics", "/openapi.json", "/docs", "/docs/start.js"]
)
async def test_what_tells_nothing_needs_no_key(api: Api, path: str) -> None:
    assert (await api.get(path, key=None)).status_code == 200


async def test_a_key_bound_to_a_subtree_reaches_nothing_outside_it(api: Api) -> None:
    await api.grant("org")
    await api.ok("PUT", "/accounts/org%2Fteam", {"parent_id": "org"})
    await api.grant("other")
    key = await api.key("spend", "org")
    assert (await api.reserve("in", "org/team", 1, key=key)).status_code == 200
    assert (await api.get("/accounts/org/team/balance", key=key)).status_code == 200
    outside = [
        await api.reserve("out", "other", 1, key=key),
        await api.get("/accounts/other/balance", key=key),
    ]
    for response in outside:
        assert_problem(response.json(), 403, "forbidden")


async def test_a_spend_key_bound_to_one_account_may_not_read_anothers_balance(api: Api) -> None:
    """H6."""
    await api.grant("mine")
    await api.grant("yours")
    key = await api.key("spend", "mine")
    assert (await api.get("/accounts/mine/balance", key=key)).status_code == 200
    assert (await api.get("/accounts/yours/balance", key=key)).status_code == 403


async def test_a_key_bound_to_a_subtree_settles_nothing_outside_it(api: Api) -> None:
    await api.grant("mine")
    await api.grant("yours")
    await api.reserve("r", "yours", 100)
    key = await api.key("spend", "mine")
    response = await api.post("/settle", {"request_id": "r", "amounts": {"tokens": 1}}, key=key)
    assert response.status_code in {403, 404}
    balance = await api.ok("GET", "/accounts/yours/balance")
    assert balance["windows"][0]["reserved"] == 100


async def test_in_an_array_a_bound_key_reaches_nothing_outside_its_subtree_either(api: Api) -> None:
    await api.grant("mine")
    await api.grant("yours")
    await api.reserve("theirs", "yours", 100)
    key = await api.key("spend", "mine")
    asks = [
        {"request_id": account, "account_id": account, "amounts": {"tokens": 1}}
        for account in ("mine", "yours")
    ]
    for path in ("/reserve", "/charge"):
        entries = (await api.post(path, asks, key=key)).json()
        assert [entry["status"] for entry in entries] in ([200, 403], [409, 403])
    ends = [
        {"request_id": "mine", "amounts": {"tokens": 1}},
        {"request_id": "theirs", "account_id": "yours", "amounts": {"tokens": 1}},
    ]
    entries = (await api.post("/settle", ends, key=key)).json()
    assert entries[0]["status"] == 200
    assert entries[1]["status"] in {403, 404}
    balance = await api.ok("GET", "/accounts/yours/balance")
    assert (balance["windows"][0]["reserved"], balance["windows"][0]["settled"]) == (100, 0)


async def test_who_did_it_is_the_key(api: Api) -> None:
    """In arrays, too, and for every change of what is configured."""
    made = await api.ok("POST", "/keys", {"name": "ops", "role": "admin"})
    by = {"key": made["secret"]}
    budget = {"unit": "tokens", "window": {"kind": "lifetime"}, "limit_amount": 5}
    await api.ok("PUT", "/plans/p", {"budgets": [{"name": "b", **budget}]}, **by)
    await api.ok("PUT", "/accounts/a", {"plan_id": "p"}, **by)
    await api.ok("PUT", "/accounts/a/budgets/own", budget, **by)
    await api.ok("POST", "/keys", {"name": "other", "role": "spend"}, **by)
    changes = (await api.ok("GET", "/audit/changes"))["items"]
    mine = [change for change in changes if change["actor"] == made["key_id"]]
    assert {change["subject"] for change in mine} >= {"plan", "account", "budget", "api_key"}
    spender = await api.ok("POST", "/keys", {"name": "app", "role": "spend"})
    ask = {"request_id": "r", "account_id": "a", "amounts": {"tokens": 1}}
    await api.post("/reserve", [ask], key=spender["secret"])
    timeline = await api.ok("GET", "/audit/timeline", params={"request_id": "r"})
    assert timeline["items"][0]["actor"] == spender["key_id"]


async def test_only_auditors_see_how_full_shared_windows_are(api: Api) -> None:
    await api.grant("org")
    await api.ok("PUT", "/accounts/user", {"parent_id": "org"})
    for role, sees in [("spend", False), ("audit", True), ("admin", True)]:
        key = await api.key(role)
        (window,) = (await api.ok("GET", "/accounts/user/balance", key=key))["windows"]
        assert ("settled" in window) == sees, role
        assert window["limit"] == 1000


async def test_a_revoked_key_stops_working_at_once(api: Api) -> None:
    made = await api.ok("POST", "/keys", {"name": "n", "role": "audit"})
    assert (await api.get("/accounts/x/balance", key=made["secret"])).status_code == 404
    await api.ok("DELETE", f"/keys/{made['key_id']}")
    assert (await api.get("/accounts/x/balance", key=made["secret"])).status_code == 401


async def test_a_key_revoked_elsewhere_stops_working_when_the_cache_forgets_it(
    database_url: str,
) -> None:
    async with in_process(settings_for(database_url, key_cache_seconds=0)) as api:
        made = await api.ok("POST", "/keys", {"name": "n", "role": "audit"})
        async with in_process(settings_for(database_url)) as elsewhere:
            await elsewhere.ok("DELETE", f"/keys/{made['key_id']}")
        assert (await api.get("/accounts/x/balance", key=made["secret"])).status_code == 401


async def test_a_secret_is_shown_once_and_only_its_hash_is_kept(api: Api, ledger: Ledger) -> None:
    response = await api.post("/keys", {"name": "chat backend", "role": "spend"})
    assert response.status_code == 201
    assert response.headers["cache-control"] == "no-store"
    made = response.json()
    listed = (await api.get("/keys")).json()
    assert [key["key_id"] for key in listed] == [made["key_id"]]
    assert "secret" not in listed[0]
    stored = await ledger.connection.fetchval("select key_hash from preauth.api_key")
    assert stored == digest(made["secret"].encode())
    dump = str(await ledger.connection.fetch("select * from preauth.api_key"))
    assert made["secret"] not in dump


@pytest.mark.parametrize("role", ["audit", "admin"])
async def test_only_spend_keys_are_bound(api: Api, role: str) -> None:
    response = await api.post("/keys", {"name": "n", "role": role, "account_id": "a"})
    assert response.status_code == 400
    assert response.json()["errors"] == [
        {"path": "account_id", "message": "is for the role spend only"}
    ]


@pytest.mark.parametrize(
    "key", ["~!@#$%^&*()_+'\"\\,;=", "with blanks\tinside it", "schlüssel-für-alle-€", "k" * 256]
)
async def test_every_admin_key_that_may_be_set_opens_the_door(database_url: str, key: str) -> None:
    async with over_sockets(settings_for(database_url, admin_key=key)) as (api, _):
        headers = {"Authorization": b"Bearer " + key.encode()}
        assert (await api.get("/keys", key=None, headers=headers)).status_code == 200
