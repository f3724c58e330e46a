"""What a field may be: one set of types, for validation and for the OpenAPI document."""

import re
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

__all__ = [
    "ID_PATTERN",
    "MAX_AMOUNT",
    "TEXT_PATTERN",
    "Alternative",
    "Amount",
    "Amounts",
    "ApplyWhen",
    "Body",
    "BudgetName",
    "Dimension",
    "Id",
    "Instant",
    "Labels",
    "MaxUsage",
    "ShortText",
    "Text",
    "TtlSeconds",
    "Unit",
    "Usage",
    "presence",
]

MAX_AMOUNT: Final = 2**53 - 1
ID_PATTERN: Final = r"^[A-Za-z0-9_.:@/-]{1,128}$"
NAME_PATTERN: Final = r"^[a-z][a-z0-9_.-]{0,63}$"
SHORT_TEXT_PATTERN: Final = r"^[^\x00-\x1f\x7f-\x9f]{1,128}$"
TEXT_PATTERN: Final = r"^[^\x00-\x1f\x7f-\x9f]{1,256}$"

_CLOSED: Final[JsonDict] = {"additionalProperties": False}
"""In the document: no key but those that match."""

Amount = Annotated[
    int,
    Field(strict=True, ge=0, le=MAX_AMOUNT, description="A whole number in the budget's unit."),
]
"""0 to 2^53-1, and exactly an integer: ``"7"``, ``7.0``, ``1e3`` and ``true`` are not."""

_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)


def _instant(value: str) -> str:
    """Refuse what is no RFC 3339 instant with its offset, or of no year from 1 to 9999 in UTC."""
    try:
        if _INSTANT.fullmatch(value):
            datetime.fromisoformat(value).astimezone(UTC)
            return value
    except (ValueError, OverflowError):
        pass
    raise PydanticCustomError(
        "instant", "must be an instant with its offset, such as 2026-10-01T00:00:00Z"
    )


Instant = Annotated[str, AfterValidator(_instant), Field(json_schema_extra={"format": "date-time"})]
"""RFC 3339 with its offset; kept as text, for the ledger to read."""

Id = Annotated[str, Field(pattern=ID_PATTERN)]
Unit = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
Amounts = Annotated[
    dict[Unit, Amount],
    Field(
        min_length=1,
        max_length=16,
        examples=[{"usd_nano": 100000000}],
        json_schema_extra=_CLOSED,
    ),
]
Dimension = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
MaxUsage = Annotated[
    dict[Dimension, Amount],
    Field(
        min_length=1,
        max_length=32,
        examples=[{"prompt_tokens": 3000, "completion_tokens": 500}],
        json_schema_extra=_CLOSED,
    ),
]
"""Upper bounds by dimension; ``prompt_tokens`` and ``completion_tokens`` stand for any kind."""
Usage = Annotated[
    dict[Dimension, Amount],
    Field(
        min_length=1,
        max_length=32,
        examples=[{"input_tokens": 2700, "cached_input_tokens": 200, "output_tokens": 351}],
        json_schema_extra=_CLOSED,
    ),
]
"""Counts by dimension, each unit in exactly one."""
TtlSeconds = Annotated[
    int, Field(strict=True, ge=1, le=86400, description="Seconds from now until the hold lapses.")
]
ShortText = Annotated[str, Field(pattern=SHORT_TEXT_PATTERN)]
Text = Annotated[str, Field(pattern=TEXT_PATTERN)]
Labels = Annotated[
    dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]{0,31}$")], ShortText],
    Field(max_length=16, examples=[{"team": "search"}], json_schema_extra=_CLOSED),
]
BudgetName = Annotated[str, Field(pattern=NAME_PATTERN)]
ApplyWhen = Annotated[
    Literal["now", "next_window"],
    Field(description="Whether current windows take the change, or only those to come."),
]


class Body(BaseModel):
    """A request body: nothing is converted, nothing unknown is let through."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        defer_build=False,
        regex_engine="rust-regex",
        use_attribute_docstrings=True,
    )


def presence(field: str, message: str) -> PydanticCustomError:
    """Say of one field whether the others want it; raised by a validator of the whole model.

    That sees all fields as they are. One of the field itself, called where it is left out too, has
    them collected for it, which costs more than to validate them.
    """
    return PydanticCustomError("presence", message, {"field": field})


class Alternative(Body):
    """Another way to do the work, tried when those before it don't fit."""

    model: Id | None = None
    """The request's, unless it names another."""
    max_usage: MaxUsage | None = None
    amounts: Amounts | None = None
    """One that has neither max_usage nor amounts has the request's."""
