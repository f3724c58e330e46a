"""Everything that can be set, each as an environment variable ``PREAUTH_<NAME>``."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

__all__ = ["Settings"]

IDENTIFIER = r"^[A-Za-z0-9_.:@/-]{1,128}$"
"""What a plan or an account may be called (contract, section 2)."""


def _whole(value: object) -> object:
    """Environment variables are text, and a Literal of integers wants an integer."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _postgres_url(value: str) -> str:
    if not value.startswith(("postgresql://", "postgres://")):
        raise ValueError("must start with postgresql:// or postgres://")
    return value


PostgresUrl = Annotated[str, AfterValidator(_postgres_url)]


class Settings(BaseSettings):
    """The settings of one process. An empty variable counts as unset."""

    model_config = SettingsConfigDict(
        env_prefix="PREAUTH_", env_ignore_empty=True, extra="ignore", frozen=True
    )

    database_url: PostgresUrl | None = Field(default=None, repr=False)
    """PostgreSQL 15 to 18. Unset: ``preauth dev`` starts the embedded one."""

    data_dir: Path = Path(".preauth")
    """Where the embedded PostgreSQL keeps its data and ``preauth dev`` its admin key file."""

    host: str = "127.0.0.1"
    """The address to listen on."""

    port: int = Field(default=8080, ge=1, le=65535)
    """The TCP port to listen on."""

    admin_key: str | None = Field(default=None, min_length=16, max_length=256, repr=False)
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

    shutdown_seconds: int = Field(default=10, ge=0, le=300)
    """Seconds that requests in flight get to finish after SIGTERM."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe log line written."""

    @property
    def base_url(self) -> str:
        """Where a client on this machine reaches the service."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
