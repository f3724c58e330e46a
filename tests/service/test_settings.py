"""Settings: from PREAUTH_*, checked at the start, secrets never shown."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from service.settings import Settings


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in [n for n in os.environ if n.startswith("PREAUTH_")]:
        monkeypatch.delenv(name)


def test_the_defaults_serve_on_loopback_with_an_embedded_database():
    settings = Settings()

    assert settings.base_url == "http://127.0.0.1:8080"
    assert settings.database_url is None
    assert settings.data_dir == Path(".preauth")
    assert settings.denial_status == 429


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DENIAL_STATUS", "403"),
        ("DENIAL_STATUS", "4e2"),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("DATABASE_URL", "mysql://x"),
        ("DATABASE_TIMEOUT", "0"),
        ("ADMIN_KEY", "short"),
        ("DEFAULT_PLAN", "not a plan"),
        ("LOG_LEVEL", "loud"),
        ("WORKERS", "0"),
        ("WEBHOOK_URL", "ftp://hooks.example"),
        ("WEBHOOK_SECRET", "whsec_c2hvcnQ="),
        ("WEBHOOK_SECRET", "not base64!"),
        ("WEBHOOK_TIMEOUT", "0"),
    ],
)
def test_a_bad_value_is_refused_by_name(monkeypatch, name, value):
    monkeypatch.setenv(f"PREAUTH_{name}", value)

    with pytest.raises(ValidationError) as refused:
        Settings()

    assert refused.value.errors()[0]["loc"] == (name.lower(),)


def test_values_come_from_the_environment_and_an_empty_one_is_unset(monkeypatch):
    monkeypatch.setenv("PREAUTH_DENIAL_STATUS", "402")
    monkeypatch.setenv("PREAUTH_DATABASE_URL", "")
    monkeypatch.setenv("PREAUTH_HOST", "")
    monkeypatch.setenv("PREAUTH_DEFAULT_PLAN", "free")

    settings = Settings()

    assert settings.denial_status == 402
    assert settings.database_url is None
    assert settings.base_url == "http://127.0.0.1:8080"
    assert settings.default_plan == "free"


def test_secrets_are_not_shown(monkeypatch):
    monkeypatch.setenv("PREAUTH_ADMIN_KEY", "s3cret-s3cret-s3cret")
    monkeypatch.setenv("PREAUTH_DATABASE_URL", "postgresql://u:s3cret@db/x")
    monkeypatch.setenv("PREAUTH_WEBHOOK_URL", "https://hooks.example/?s3cret")
    monkeypatch.setenv("PREAUTH_WEBHOOK_SECRET", "whsec_" + "s3cret" * 8)

    assert "s3cret" not in repr(Settings())


def test_a_webhook_without_its_secret_or_a_secret_without_a_webhook_is_refused(monkeypatch):
    for name, value in [("URL", "https://hooks.example"), ("SECRET", "whsec_" + "k" * 48)]:
        with monkeypatch.context() as alone:
            alone.setenv(f"PREAUTH_WEBHOOK_{name}", value)
            with pytest.raises(ValidationError, match="go together"):
                Settings()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:s3cret%zz@db/x",
        "postgresql://u:s3cret@[::1/x",
        "postgresql://u:s3cret@db/x?colour=s3cret",
        "postgresql://u:s3cret/s3cret@db/x",
        "postgresql://u:s3cret@s3cret@db/x",
        "postgresql://u:s3cret@db:70000/x",
        "mysql://u:s3cret@db/x",
    ],
)
def test_a_url_that_libpq_cannot_read_is_refused_without_repeating_it(monkeypatch, url):
    monkeypatch.setenv("PREAUTH_DATABASE_URL", url)
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert refused.value.errors()[0]["loc"] == ("database_url",)
    assert "s3cret" not in str(refused.value)
    assert "s3cret" not in refused.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    "url",
    [
        "postgres://u:p#x@db/x",
        "postgresql://u:p%23x@[::1]:5433,other/x?connect_timeout=5&channel_binding=prefer",
        "postgresql:///x?host=/run/postgresql&port=5433",
        "postgresql://%2Frun%2Fpg@sql/x",
        "postgresql://",
    ],
)
def test_a_url_that_libpq_can_read_is_accepted(monkeypatch, url):
    monkeypatch.setenv("PREAUTH_DATABASE_URL", url)
    assert Settings().database_url == url


@pytest.mark.parametrize(
    ("host", "announced"),
    [
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("::", "http://[::1]:8080"),
        ("0:0:0:0:0:0:0:0", "http://[::1]:8080"),
        ("fd00::7", "http://[fd00::7]:8080"),
        ("fe80::7%eth0", "http://[fe80::7%25eth0]:8080"),
        ("192.0.2.7", "http://192.0.2.7:8080"),
        ("localhost", "http://localhost:8080"),
    ],
)
def test_what_is_announced_is_an_address_that_a_client_can_ask(host, announced):
    assert Settings(host=host).base_url == announced


@pytest.mark.parametrize(
    "key",
    [
        "adminadminadmin1 ",
        " adminadminadmin1",
        "adminadminadmin1\t",
        "adminadminadmin1\n",
        "adminadmin\nadmin1",
        "adminadmin\x7fadmin1",
        "adminadmin\x1badmin1",
        "adminadminadmin1\udcff",
        "\N{OLD ITALIC LETTER A}" * 200,
    ],
)
def test_an_admin_key_that_could_never_match_is_refused_by_name(key):
    with pytest.raises(ValidationError, match="can follow Bearer") as refused:
        Settings(admin_key=key)
    assert refused.value.errors()[0]["loc"] == ("admin_key",)
    assert "adminadmin" not in str(refused.value)


def test_a_database_may_have_an_at_sign_in_its_name(monkeypatch):
    monkeypatch.setenv("PREAUTH_DATABASE_URL", "postgresql://u:p@127.0.0.1/d%40b")
    assert Settings().database_url == "postgresql://u:p@127.0.0.1/d%40b"
