"""The one way in which a usage object is refused."""

from typing import NamedTuple

__all__ = ["UnclearField", "UsageUnrecognisedError"]


class UnclearField(NamedTuple):
    """A field of a usage object, as a dotted path, and what is wrong with it."""

    path: str
    message: str


class UsageUnrecognisedError(Exception):
    """A usage object from which no exact usage can be read. Never charged as 0."""

    def __init__(self, fields: list[UnclearField]) -> None:
        super().__init__("; ".join(f"{path or 'usage'}: {message}" for path, message in fields))
        self.fields = fields

    @classmethod
    def of(cls, path: str, message: str) -> "UsageUnrecognisedError":
        """Of a single field."""
        return cls([UnclearField(path, message)])
