"""A request's header fields by name, so that a look at one is not a walk through all."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Fields", "fields_of"]

Fields = Mapping[bytes, bytes]
"""By their names in small letters, as ASGI gives them."""


def fields_of(scope: Any) -> Fields:
    """The header fields of an ASGI scope."""
    headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
    fields = dict(headers)
    return fields if len(fields) == len(headers) else _joined(headers)


def _joined(headers: Sequence[tuple[bytes, bytes]]) -> Fields:
    """One that came more than once is what none can be that came once: a value of several lines."""
    fields: dict[bytes, bytes] = {}
    for name, value in headers:
        fields[name] = fields[name] + b"\n" + value if name in fields else value
    return fields
