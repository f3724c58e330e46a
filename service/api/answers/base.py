"""What all answers share."""

from pydantic import BaseModel, ConfigDict

from service.api.values import Amount

__all__ = ["Answer", "Cost", "Named"]


class Answer(BaseModel):
    """A body that the service sends."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Named(Answer):
    """Every answer to a call names the reservation that it is about."""

    request_id: str
    account_id: str


Cost = dict[str, dict[str, Amount]]
"""By unit and dimension: whole numbers that add up to the amount of the unit."""
