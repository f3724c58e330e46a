"""Everything that can be set, each as an environment variable ``PREAUTH_<NAME>``."""

import re
from base64 import b64decode
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from service import database_url

__all__ = ["MAX_TOKEN_BYTES", "EnvironmentRefusedError", "Settings"]

MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64
"""Of a webhook's secret, as Standard Webhooks want it."""

TOKEN = re.compile(
    r"[^\x00-\x20\x7f\ud800-\udfff]"
    r"([^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*[^\x00-\x20\x7f\ud800-\udfff])?"
)
"""What comes out of an Authorization header as it was put in: HTTP trims blanks at the ends and
takes no control characters; surrogates stand for bytes that are no UTF-8."""

MAX_TOKEN_BYTES = 512
"""The longest key that is looked at."""

IDENTIFIER = r"^[A-Za-z0-9_.:@/-]{1,128}$"
"""What a plan or an account may be called (contract, section 2)."""


def _whole(value: object) -> object:
    """Environment variables are text, and a Literal of integers wants an integer."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _postgres_url(value: str) -> str:
    if not value.startswith(("postgresql://", "postgres://")):
        raise ValueError("must start with postgresql:// or postgres://")
    try:
        database_url.check(value)
    except database_url.DatabaseUrlError as error:
        raise ValueError(error.what) from None
    return value


def _bearer_token(value: str) -> str:
    """Refuse what no client can send: as it is read, such a key would never match."""
    if not TOKEN.fullmatch(value) or len(value.encode()) > MAX_TOKEN_BYTES:
        raise ValueError(
            "must be what can follow Bearer in a header: no blank at an end, no control character,"
            f" at most {MAX_TOKEN_BYTES} bytes in UTF-8"
        )
    return value


def _http_url(value: str) -> str:
    if urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).hostname:
        raise ValueError("must be an http:// or https:// URL")
    return value


def _signing_secret(value: str) -> str:
    try:
        length = len(b64decode(value.removeprefix("whsec_") + "==", validate=False))
    except ValueError:
        length = 0
    if not MIN_SECRET_BYTES <= length <= MAX_SECRET_BYTES:
        raise ValueError("must be whsec_ and 24 to 64 bytes in base64")
    return value


PostgresUrl = Annotated[str, AfterValidator(_postgres_url)]


class EnvironmentRefusedError(ValueError):
    """A variable that is not ours cannot be used; the message names it, not what is in it."""


class Settings(BaseSettings):
    """The settings of one process. An empty variable counts as unset."""

    model_config = SettingsConfigDict(
        env_prefix="PREAUTH_",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,  # it may be a secret, wherever the error is printed
    )

    database_url: PostgresUrl | None = Field(default=None, repr=False)
    """PostgreSQL 15 to 18. Unset: ``preauth dev`` starts the embedded one."""

    data_dir: Path = Path(".preauth")
    """Where the embedded PostgreSQL keeps its data and ``preauth dev`` its admin key file."""

    host: str = "127.0.0.1"
    """The address to listen on."""

    port: int = Field(default=8080, ge=1, le=65535)
    """The TCP port to listen on."""

    admin_key: Annotated[str, AfterValidator(_bearer_token)] | None = Field(
        default=None, min_length=16, max_length=256, repr=False
    )
    """Bootstraps an admin key: only its SHA-256 is stored."""

    denial_status: Annotated[Literal[402, 429], BeforeValidator(_whole)] = 429
    """The status of a denial; 402 makes every denial a 402."""

    default_plan: str | None = Field(default=None, pattern=IDENTIFIER)
    """Unknown accounts are created under this plan at their first request; unset, denied."""

    default_parent: str | None = Field(default=None, pattern=IDENTIFIER)
    """The parent of accounts that are created so."""

    database_timeout: float = Field(default=5.0, gt=0, le=300)
    """Seconds to wait for a connection or for a statement before answering 503."""

    pool_size: int = Field(default=10, ge=1, le=500)
    """Most database connections of one worker."""

    lanes: int = Field(default=1, ge=1, le=64)
    """Batches of calls that one worker has under way at once."""

    workers: int = Field(default=1, ge=1, le=128)
    """Processes of ``preauth serve``."""

    key_cache_seconds: float = Field(default=5.0, ge=0, le=300)
    """Seconds for which a verified API key is remembered: a revoked key works that much longer."""

    expiry_interval_seconds: float = Field(default=1.0, gt=0, le=3600)
    """Seconds between two looks for lapsed holds."""

    stuck_interval_seconds: float = Field(default=15.0, gt=0, le=3600)
    """Seconds between two looks for holds that time will not end."""

    webhook_url: Annotated[str, AfterValidator(_http_url)] | None = Field(default=None, repr=False)
    """Where the outbox is delivered to; unset, its messages wait."""

    webhook_secret: Annotated[str, AfterValidator(_signing_secret)] | None = Field(
        default=None, repr=False
    )
    """Signs what is delivered: ``whsec_`` and 24 to 64 bytes in base64."""

    webhook_timeout: float = Field(default=10.0, gt=0, le=300)
    """Seconds that the receiver has for its answer."""

    webhook_retry_seconds: float = Field(default=15.0, gt=0, le=3600)
    """Seconds until a delivery that failed is tried again; each further time twice as long."""

    webhook_interval_seconds: float = Field(default=1.0, gt=0, le=3600)
    """Seconds between two looks for messages to deliver."""

    shutdown_seconds: int = Field(default=10, ge=0, le=300)
    """Seconds that requests in flight get to finish after SIGTERM."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe log line written."""

    @model_validator(mode="after")
    def _deliver_only_what_is_signed(self) -> Self:
        if (self.webhook_url is None) != (self.webhook_secret is None):
            raise ValueError("PREAUTH_WEBHOOK_URL and PREAUTH_WEBHOOK_SECRET go together")
        return self

    @property
    def base_url(self) -> str:
        """Where a client on this machine reaches the service."""
        host = _reachable(self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def _reachable(host: str) -> str:
    """Of an address that stands for all of them, the loopback's."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host.replace("%", "%25")  # before a zone, as URLs want it
    return "::1" if address.version == 6 else "127.0.0.1"  # noqa: PLR2004
