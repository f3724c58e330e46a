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
    monkeypatch.setenv("PREAUTH_HOST", "::")
    monkeypatch.setenv("PREAUTH_DEFAULT_PLAN", "free")

    settings = Settings()

    assert settings.denial_status == 402
    assert settings.database_url is None
    assert settings.base_url == "http://127.0.0.1:8080"
    assert settings.default_plan == "free"


def test_secrets_are_not_shown(monkeypatch):
    monkeypatch.setenv("PREAUTH_ADMIN_KEY", "s3cret-s3cret-s3cret")
    monkeypatch.setenv("PREAUTH_DATABASE_URL", "postgresql://u:s3cret@db/x")

    assert "s3cret" not in repr(Settings())
