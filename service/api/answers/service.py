"""API keys, and how the service is."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from service.api.answers.base import Answer

__all__ = ["Health", "KeyAnswer", "NewKey"]


class KeyAnswer(Answer):
    """An API key, without its secret."""

    key_id: str
    name: str
    role: Literal["spend", "audit", "admin"]
    account_id: str | None
    """The subtree a spend key is bound to."""
    created_at: datetime
    revoked_at: datetime | None = None


class NewKey(KeyAnswer):
    """An API key with its secret, which is never shown again."""

    secret: str = Field(examples=["preauth_3q2-7w..."])


class Health(Answer):
    """Whether the process, or all it needs, is well."""

    status: Literal["ok"]
