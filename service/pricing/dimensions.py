"""The contract's dimensions, and how `genai_prices` calls the same counts."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from genai_prices.data_units import unit_data
from genai_prices.units import UnitDef, UnitRegistry

__all__ = [
    "DIMENSIONS",
    "REGISTRY",
    "is_part_of",
    "nearest",
    "of_same_dimension",
    "parts_of",
    "shared_by",
    "wholes_of",
]

REGISTRY: Final = UnitRegistry(unit_data)

DIMENSIONS: Final[Mapping[str, str]] = {
    "input_tokens": "input_tokens",
    "cache_read_tokens": "cached_input_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "cache_write_5m_tokens": "cache_write_tokens",
    "cache_write_1h_tokens": "cache_write_1h_tokens",
    "input_audio_tokens": "input_audio_tokens",
    "cache_audio_read_tokens": "cached_input_audio_tokens",
    "input_image_tokens": "input_image_tokens",
    "cache_image_read_tokens": "cached_input_image_tokens",
    "input_video_tokens": "input_video_tokens",
    "cache_video_read_tokens": "cached_input_video_tokens",
    "output_tokens": "output_tokens",
    "output_reasoning_tokens": "reasoning_tokens",
    "output_citation_tokens": "citation_tokens",
    "output_audio_tokens": "output_audio_tokens",
    "output_image_tokens": "output_image_tokens",
    "output_video_tokens": "output_video_tokens",
    "web_searches": "web_searches",
    "storage_searches": "file_searches",
    "requests": "requests",
    "input_characters": "input_characters",
    "input_text_messages": "input_text_messages",
    "input_audio_seconds": "input_audio_seconds",
    "output_audio_seconds": "output_audio_seconds",
    "input_document_pages": "pages",
    "input_annotated_document_pages": "annotated_pages",
}
"""By the usage key of `genai_prices`, whose counts contain each other; ours are disjoint."""

_ALWAYS_LIKE_ITS_PARENT: Final = (("modality", "text"), ("token_type", "tool"))
"""Text and the results of tools are input like any other: no dimensions of their own."""


def of_same_dimension(key: str) -> str | None:
    """The count of which ``key`` is a part that is priced no differently, if it is such a part."""
    unit = REGISTRY.units[key]
    kept = {k: v for k, v in unit.dimensions.items() if (k, v) not in _ALWAYS_LIKE_ITS_PARENT}
    if len(kept) == len(unit.dimensions):
        return None
    return next((k for k, u in REGISTRY.units.items() if u.dimensions == kept), None)


def is_part_of(part: UnitDef, whole: UnitDef) -> bool:
    """Whether every unit of ``part`` is counted in ``whole`` too."""
    return part is not whole and whole.dimensions.items() <= part.dimensions.items()


@cache
def wholes_of(key: str) -> frozenset[str]:
    """The counts that include this one, as far as they are ones of their own."""
    unit = REGISTRY.units[key]
    return frozenset(
        name
        for name, other in REGISTRY.units.items()
        if is_part_of(unit, other) and of_same_dimension(name) is None
    )


@cache
def parts_of(key: str) -> frozenset[str]:
    """The counts that this one includes."""
    unit = REGISTRY.units[key]
    return frozenset(name for name, other in REGISTRY.units.items() if is_part_of(other, unit))


@cache
def shared_by(one: str, other: str) -> str | None:
    """What counts the units that are in both, where neither count includes the other.

    The pair of names itself, which counts nothing, where there is no such count; None: they share
    none, or one includes the other.
    """
    first, second = REGISTRY.units[one], REGISTRY.units[other]
    if is_part_of(first, second) or is_part_of(second, first):
        return None
    if not first.is_compatible_with(second):
        return None
    join = REGISTRY.find_join(first, second)
    return join.usage_key if join else f"{one}, {other}"


def nearest(key: str, among: Iterable[str]) -> str | None:
    """The most specific of ``among`` that ``key`` is, or is a part of."""
    unit = REGISTRY.units[key]
    wholes = [k for k in among if k == key or is_part_of(unit, REGISTRY.units[k])]
    return max(wholes, key=lambda k: len(REGISTRY.units[k].dimensions), default=None)
