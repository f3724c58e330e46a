"""A request's header fields by name, so that a look at one is not a walk through all."""

from collections.abc import Mapping, Sequence

__all__ = ["Fields", "fields_of"]

Fields = Mapping[bytes, bytes]
"""By their names in small letters, as ASGI gives them."""


def fields_of(headers: Sequence[tuple[bytes, bytes]]) -> Fields:
    """The fields of an ASGI scope's ``headers``."""
    fields = dict(headers)
    return fields if len(fields) == len(headers) else _joined(headers)


def _joined(headers: Sequence[tuple[bytes, bytes]]) -> Fields:
    """One that came more than once means its values in their order, with commas (RFC 9110, 5.3)."""
    fields: dict[bytes, bytes] = {}
    for name, value in headers:
        fields[name] = fields[name] + b", " + value if name in fields else value
    return fields
