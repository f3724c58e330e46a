"""What a provider says was used, as the contract's dimensions."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from service.pricing.usage.apis import APIS
from service.pricing.usage.disjoint import dimensions
from service.pricing.usage.errors import UnclearField, UsageUnrecognisedError
from service.pricing.usage.fields import Told, read

__all__ = ["APIS", "Reading", "Told", "UnclearField", "UsageUnrecognisedError", "read_usage"]


class Reading(NamedTuple):
    """A usage, and the words of the object that tell of a variant of the price."""

    usage: dict[str, int]
    told: tuple[Told, ...]


def read_usage(api: str, usage: Mapping[str, Any]) -> Reading:
    """Read a provider's own usage object. The same object always gives the same usage.

    Raises:
        UsageUnrecognisedError: something in it is not understood, or contradicts something else.
        KeyError: ``api`` is not one of `APIS`.
    """
    known = APIS[api]
    seen = read(usage, known.fields)
    return Reading(dimensions(known, seen.counts), seen.told)
