"""What the ledger answered to one call."""

from typing import NamedTuple, Self

import msgspec

__all__ = ["Outcome"]

_decode = msgspec.json.Decoder().decode


class Outcome(NamedTuple):
    """One answer: an HTTP status, header fields, and the JSON body to send as it stands."""

    status: int
    headers: dict[str, str]
    body: bytes
    root: str | None = None
    """The root of the account's tree, where the ledger looked it up."""

    @classmethod
    def of(cls, status: int, headers: str | None, body: str, root: str | None = None) -> Self:
        """Build an outcome from the columns ``status``, ``headers``, ``body`` and ``root``."""
        return cls(status, _fields(headers), body.encode(), root)

    @property
    def is_problem(self) -> bool:
        """Whether the body is problem details: a denial or a refusal."""
        return self.status >= 400  # noqa: PLR2004


def _fields(headers: str | None) -> dict[str, str]:
    if headers is None or headers == "{}":
        return {}
    return {name: str(value) for name, value in _decode(headers).items() if value is not None}
