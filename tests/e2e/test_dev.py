"""``preauth dev`` in a fresh directory: contract sections 7 and 8 as a newcomer meets them."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest

from service.postgres import PostgresServer
from tests.support.daemon import Daemon
from tests.support.waits import until_sync

pytestmark = pytest.mark.e2e

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


def post(client, path, **body):
    return client.post(path, json=body)


def balance(client):
    (window,) = client.get("/accounts/user_42/balance").json()["windows"]
    return {name: window[name] for name in ("settled", "reserved", "available")}


def prepare(client):
    """Plan ``free``, account ``user_42`` under it, $0.35 of $0.50 settled."""
    assert client.put("/plans/free", json=FREE).status_code == 200
    assert client.put("/accounts/user_42", json={"plan_id": "free"}).status_code == 200
    spent = post(
        client, "/charge", request_id="old", account_id="user_42", amounts={"usd_nano": 350000000}
    )
    assert spent.status_code == 200, spent.text


def two_dimes_at_once(daemon):
    """Two parallel reserves of $0.10; the authorized one first."""

    def reserve(n):
        return httpx.post(
            f"{daemon.url}/reserve",
            headers=daemon.headers,
            json={
                "request_id": f"r{n}",
                "account_id": "user_42",
                "amounts": {"usd_nano": 100000000},
            },
        )

    with ThreadPoolExecutor(2) as threads:
        return sorted(threads.map(reserve, range(2)), key=lambda reply: reply.status_code)


def test_the_example_of_the_contract_reproduces_to_the_digit(daemon):
    daemon.start()
    with daemon.client() as client:
        prepare(client)
        authorized, denied = two_dimes_at_once(daemon)
        assert (authorized.status_code, denied.status_code) == (200, 429)
        assert authorized.json()["decision"] == "authorized"
        assert authorized.json()["lines"][0]["available"] == 50000000
        told = denied.json()
        assert denied.headers["content-type"].startswith("application/problem+json")
        assert int(denied.headers["retry-after"]) > 0
        assert {k: told[k] for k in ("reason", "required", "available")} == {
            "reason": "budget_exhausted",
            "required": 100000000,
            "available": 50000000,
        }
        settled = post(
            client,
            "/settle",
            request_id=authorized.json()["request_id"],
            amounts={"usd_nano": 60000000},
        ).json()
        figures = {"settled": 410000000, "reserved": 0, "available": 90000000}
        assert {name: settled["lines"][0][name] for name in figures} == figures
        assert balance(client) == figures


def request_of(line):
    """What a shell makes of a curl line, sent as curl sends it: not every machine has curl."""
    told = f"curl() {{ printf '%s\\0' \"$@\"; }}; {line}"
    said = subprocess.run(["bash", "-c", told], capture_output=True, check=True, text=True)
    silent, url, *options = said.stdout.split("\0")[:-1]
    assert (silent, options[0::2]) == ("-sS", ["-H", "-H", "-d"])
    headers = dict(header.split(": ", 1) for header in (options[1], options[3]))
    return httpx.post(url, headers=headers, content=options[5])


@pytest.mark.parametrize(
    ("host", "key"),
    [("127.0.0.1", "it's the admin's key"), ("0.0.0.0", Daemon.key), ("::", Daemon.key)],
)
def test_the_curl_line_works_as_it_stands(host, key):
    with Daemon.scratch() as directory:
        settings = {"PREAUTH_HOST": host, "PREAUTH_ADMIN_KEY": key}
        daemon = Daemon(Path(directory), **settings).start()
        try:
            (line,) = [li for li in daemon.log.read_text().splitlines() if li.startswith("curl ")]
            assert request_of(line).json()["decision"] == "authorized"
        finally:
            daemon.end()


def test_a_second_start_finds_what_the_first_one_kept_and_sigterm_leaves_nothing_running(daemon):
    daemon.start()
    with daemon.client() as client:
        prepare(client)
        before = balance(client)
    assert daemon.left_running() != []
    assert daemon.stop() == 0
    assert daemon.left_running() == []
    daemon.start()
    with daemon.client() as client:
        assert balance(client) == before
        again = post(
            client, "/charge", request_id="old", account_id="user_42", amounts={"usd_nano": 350000000}
        )  # fmt: skip
        assert again.json()["replayed"] is True


def test_after_everything_was_killed_the_next_start_recovers_with_nothing_lost(daemon):
    daemon.start()
    with daemon.client() as client:
        prepare(client)
        before = balance(client)
    daemon.kill()
    daemon.start()
    with daemon.client() as client:
        assert balance(client) == before
    daemon.stop()
    with PostgresServer(daemon.data_dir) as server, psycopg.connect(server.dsn) as connection:
        assert connection.execute("select * from preauth_api.verify()").fetchall() == []


def test_when_only_postgresql_is_killed_the_running_service_comes_back(daemon):
    daemon.start()
    with daemon.client() as client:
        prepare(client)
        killed = daemon.postmaster
        daemon.kill_postgres()
        until_sync(
            lambda: daemon.postmaster not in {0, killed} and daemon.ready(),
            "another postmaster serves",
            seconds=60,
        )
        assert balance(client)["settled"] == 350000000


def test_a_second_service_on_the_same_data_is_refused_and_does_no_harm(daemon):
    daemon.start()
    second = Daemon(daemon.directory)
    with pytest.raises(AssertionError, match="in use"):
        second.start()
    with daemon.client() as client:
        assert client.get("/readyz").status_code == 200
