"""What a file may say: the bodies of ``PUT /plans`` and ``PUT /accounts``, by their ids.

And those of ``POST /price-tables``.
"""

from typing import Any, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from service.api.accounts import AccountFields
from service.api.budgets import Budget
from service.api.price_tables import PriceTableFields
from service.api.values import Body, Id

__all__ = ["Declared", "DeclaredAccount", "DeclaredBudget", "DeclaredPlan"]


class DeclaredBudget(Budget):
    """A budget of a plan or of an account."""

    zero_is_meant: bool | None = None
    """Beside limit_amount: 0, which denies every spend."""


class DeclaredPlan(Body):
    """All budgets of a plan."""

    budgets: list[DeclaredBudget]
    unpriced: Literal["refuse", "count_only"] | None = None
    """Stays as it is where it is left out; null is refuse."""

    @field_validator("budgets", mode="before")
    @classmethod
    def _has_some(cls, value: Any) -> Any:
        if isinstance(value, (list, dict)) and not value:
            raise PydanticCustomError("presence", "a plan has at least one budget")
        return value


class DeclaredAccount(AccountFields):
    """An account. What is left out stays as it is; ``budgets``, if given, are all of its own."""

    budgets: list[DeclaredBudget] | None = None


class Declared(Body):
    """A whole file."""

    price_tables: list[PriceTableFields] = Field(default_factory=list)
    plans: dict[Id, DeclaredPlan] = Field(default_factory=dict)
    accounts: dict[Id, DeclaredAccount] = Field(default_factory=dict)
