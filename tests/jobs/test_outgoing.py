"""What the environment says of certificates and proxies is refused by name, at the start."""

import os
import subprocess
import sys

import pytest

from service.app import create_app
from service.jobs.outgoing import client_of_environment
from service.paths import SQL
from service.postgres.home import free_port
from service.settings import EnvironmentRefusedError, Settings
from tests.support.receiver import SECRET

READ = ["SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
BAD = [
    ("SSL_CERT_FILE", "/nonexistent"),
    ("SSL_CERT_FILE", os.devnull),
    ("SSL_CERT_FILE", "/"),
    ("ALL_PROXY", "socks5://user:t0ken@proxy.example"),
    ("all_proxy", "foo://user:t0ken@proxy.example"),
    ("http_proxy", "http://user:t0ken@proxy.example:port"),
    ("NO_PROXY", "[::1"),
]


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in [n for n in os.environ if n.upper() in READ]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(("name", "value"), BAD)
def test_what_no_client_can_be_made_of_is_refused_by_name(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(EnvironmentRefusedError, match=f"^{name}: ") as refused:
        client_of_environment(1)
    assert "t0ken" not in str(refused.value)


def test_of_several_the_bad_one_is_named(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "localhost,.example")
    monkeypatch.setenv("ALL_PROXY", "foo://proxy.example")
    with pytest.raises(EnvironmentRefusedError, match=r"^ALL_PROXY: "):
        client_of_environment(1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSL_CERT_FILE", ""),
        ("SSL_CERT_DIR", "/nonexistent"),
        ("HTTPS_PROXY", "proxy.example:3128"),
        ("ALL_PROXY", "http://proxy.example"),
        ("NO_PROXY", "localhost,::1,10.0.0.0/8,.example"),
    ],
)
def test_what_a_client_can_be_made_of_is_taken(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    client_of_environment(1)


def test_the_application_is_not_made_where_it_could_deliver_nothing(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "foo://proxy.example")
    webhook = {"webhook_url": "http://hooks.example", "webhook_secret": SECRET}
    with pytest.raises(EnvironmentRefusedError):
        create_app(Settings(database_url=NOWHERE, **webhook))
    create_app(Settings(database_url=NOWHERE))


@pytest.mark.e2e
@pytest.mark.parametrize("command", [["serve", "--workers", "2"], ["dev"]], ids=["serve", "dev"])
def test_the_start_is_refused_in_a_line_before_the_database_is_asked(tmp_path, command):
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREAUTH_")},
        "SSL_CERT_FILE": "/nonexistent",
        "PYTHONPATH": str(SQL.parent),
        "PREAUTH_DATABASE_URL": NOWHERE,
        "PREAUTH_DATA_DIR": str(tmp_path / "data"),
        "PREAUTH_PORT": str(free_port()),
        "PREAUTH_WEBHOOK_URL": "http://127.0.0.1:1/hooks",
        "PREAUTH_WEBHOOK_SECRET": SECRET,
    }
    ended = subprocess.run(
        [sys.executable, "-m", "service.cli", *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: SSL_CERT_FILE: alerts cannot be delivered")
    assert ended.stdout == ""
