"""What an operation promises: one record from which guards and the OpenAPI document are made."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

__all__ = ["ADMIN", "AUDIT", "BALANCE", "SPEND", "Operation", "Parameter"]

SPEND = ("spend", "admin")
BALANCE = ("spend", "audit", "admin")
AUDIT = ("audit", "admin")
ADMIN = ("admin",)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter."""

    name: str
    description: str
    schema: dict[str, Any]
    required: bool = False


ERROR_FORMAT = Parameter(
    "error_format",
    "Give denials and errors in this vendor's error envelope.",
    {"type": "string", "enum": ["openai", "anthropic"]},
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    ``roles``: who may call it; empty: anyone. ``problems``: the codes of `problems.CODES` it can
    answer with, besides those that every operation has. ``answers``: models of its successes;
    ``many``: an array of them. ``denies``: it can answer with a denial. ``vendor_errors``: it
    knows ``error_format``. ``batches``: it takes an array of bodies too. ``csv``: it can answer in
    CSV.
    """

    summary: str
    tag: str
    answers: dict[int, type[BaseModel]] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    body: type[BaseModel] | None = None
    example: dict[str, Any] | None = None
    problems: tuple[str, ...] = ()
    many: bool = False
    denies: bool = False
    vendor_errors: bool = False
    batches: bool = False
    csv: bool = False
    query: tuple[Parameter, ...] = ()
    media_type: str = "application/json"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every query parameter the operation knows."""
        return (*self.query, ERROR_FORMAT) if self.vendor_errors else self.query

    @property
    def parameter_names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(parameter.name for parameter in self.parameters)
