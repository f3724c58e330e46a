"""Times in requests: RFC 3339, with their offset."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from service.api.problems import Fault, malformed

__all__ = ["INSTANT_SCHEMA", "Instant", "instant", "instant_of"]

_MESSAGE: Final = "must be an RFC 3339 time with an offset"
_FORM: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"
)
INSTANT_SCHEMA: Final[dict[str, Any]] = {"type": "string", "format": "date-time"}


def _checked(value: str) -> str:
    try:
        instant(value)
    except ValueError:
        raise PydanticCustomError("instant", _MESSAGE) from None
    return value


def instant(value: str) -> datetime:
    """The instant that a text names, in UTC.

    Raises:
        ValueError: it names none, or one that has no year from 1 to 9999 in UTC.
    """
    if not _FORM.fullmatch(value):
        raise ValueError(value)
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except OverflowError:
        raise ValueError(value) from None


Instant = Annotated[
    str,
    AfterValidator(_checked),
    Field(json_schema_extra={"format": "date-time"}, examples=["2026-09-14T12:00:00Z"]),
]
"""In a body: the text is passed on as it stands."""


def instant_of(value: str, name: str) -> datetime:
    """The instant that a parameter of the query names.

    Raises:
        Problem: 400 when it is none.
    """
    try:
        return instant(value)
    except ValueError:
        raise malformed([Fault(f"query.{name}", _MESSAGE)]) from None
