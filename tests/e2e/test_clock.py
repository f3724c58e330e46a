"""The clock of the service's host is wrong and jumps: it decides nothing. The ledger's is PostgreSQL's."""

import json
import os
import time
from datetime import UTC, datetime, timedelta

import httpx
import psycopg
import pytest

from service.paths import SQL
from tests.support import databases
from tests.support.money import HOUR, budget
from tests.support.waits import until_sync

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KEY = "the-admin-key-of-the-tests-0123456789"

WRONG_CLOCK = '''
"""Python looks for a sitecustomize at its start: in this process the host's clock is off."""
import datetime, pathlib, time

_offset = pathlib.Path({path!r})
_time, _time_ns, _real = time.time, time.time_ns, datetime.datetime

def _off():
    return float(_offset.read_text())

class Shifted(_real):
    @classmethod
    def now(cls, tz=None):
        return _real.now(tz) + datetime.timedelta(seconds=_off())

    @classmethod
    def utcnow(cls):
        return _real.now(datetime.timezone.utc).replace(tzinfo=None) + datetime.timedelta(seconds=_off())

    @classmethod
    def today(cls):
        return cls.now()

time.time = lambda: _time() + _off()
time.time_ns = lambda: _time_ns() + int(_off() * 1e9)
datetime.datetime = Shifted
'''

YEARS = 3 * 365 * 86400


@pytest.fixture
def offset(tmp_path):
    """A file with the seconds by which the service's clock is off."""
    path = tmp_path / "offset"
    path.write_text("0")
    place = tmp_path / "wrong-clock"
    place.mkdir()
    (place / "sitecustomize.py").write_text(WRONG_CLOCK.format(path=str(path)))
    return path


class Said:
    """What the service answers, in the database's time."""

    def __init__(self, served):
        self.served = served
        self.http = httpx.Client(
            base_url=served.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=30
        )

    def now(self):
        with psycopg.connect(self.served.database_url) as connection:
            return connection.execute("select clock_timestamp()").fetchone()[0]

    def post(self, path, **body):
        return self.http.post(path, json=body)

    def reserve(self, request_id, amount, **more):
        return self.post(
            "/reserve", request_id=request_id, account_id="ann", amounts={"tokens": amount}, **more
        )

    def reservation(self, request_id):
        return self.http.get(f"/reservations/{request_id}").json()

    def windows(self):
        return self.http.get("/accounts/ann/balance").json()["windows"]


@pytest.fixture
def said(serve, offset):
    """A service whose clock is off by what the file says, on an account with a limit an hour."""
    path = os.pathsep.join((str(offset.parent / "wrong-clock"), str(SQL.parent)))
    said = Said(
        serve(
            1,
            PREAUTH_ADMIN_KEY=KEY,
            PREAUTH_EXPIRY_INTERVAL_SECONDS="0.1",
            PREAUTH_KEY_CACHE_SECONDS="0.5",
            PYTHONPATH=path,
        )
    )
    assert said.http.put("/accounts/ann", json={}).status_code == 200
    body = budget(limit=1000, window=HOUR, on_expiry="release")
    assert said.http.put("/accounts/ann/budgets/cap", json=body).status_code == 200
    yield said
    said.http.close()
    assert databases.mismatches(said.served.database_url) == []


def hour(instant):
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H}"


def logged_year(said):
    whole = said.served.log.read_text().rpartition("\n")[0]
    line = json.loads(whole.splitlines()[-1])
    return datetime.fromisoformat(line["timestamp"]).year


@pytest.mark.parametrize("step", [YEARS, -YEARS])
def test_a_step_of_the_clock_moves_no_hold_no_window_and_no_key(said, offset, step):
    began = said.now()
    assert said.reserve("before", 100, ttl_seconds=600).status_code == 200
    key = said.post("/keys", name="k", role="spend").json()
    offset.write_text(str(step))

    answer = said.reserve("after", 100, ttl_seconds=600).json()
    until_sync(lambda: abs(logged_year(said) - said.now().year) == 3, "the service feels the step")
    left = datetime.fromisoformat(answer["expires_at"]) - said.now()
    assert timedelta(seconds=580) < left <= timedelta(seconds=600)
    (window,) = said.windows()
    assert hour(datetime.fromisoformat(window["starts_at"])) in {hour(began), hour(said.now())}

    denial = said.reserve("too-much", 1000).json()
    assert denial["reason"] == "budget_exhausted"
    assert 0 < denial["retry_after_ms"] <= 3_600_000
    time.sleep(0.5)  # several looks for lapsed holds
    assert said.reservation("before")["state"] == "authorized"
    assert said.post("/extend", request_id="before", ttl_seconds=900).status_code == 200
    settled = said.post("/settle", request_id="before", amounts={"tokens": 50}).json()
    assert (settled["state"], settled["late"]) == ("settled", False)

    assert said.http.delete(f"/keys/{key['key_id']}").status_code == 200
    bearer = {"Authorization": f"Bearer {key['secret']}"}
    until_sync(
        lambda: said.http.get("/accounts/ann/balance", headers=bearer).status_code == 401,
        "the revoked key is refused",
    )


def test_a_lease_lapses_when_the_database_says_so(said, offset):
    offset.write_text(str(-YEARS))
    assert said.reserve("short", 1000, ttl_seconds=1).status_code == 200
    until_sync(lambda: said.reservation("short")["state"] == "lapsed", "the lease has lapsed")
    assert said.reserve("next", 1000).status_code == 200
