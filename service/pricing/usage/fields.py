"""Reading every field of a usage object, so that none is passed over in silence."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from service.pricing.usage.errors import UnclearField, UsageUnrecognisedError

__all__ = [
    "MOST_COUNT",
    "Counts",
    "Fields",
    "Path",
    "Seen",
    "Told",
    "Variants",
    "dotted",
    "read",
]

MOST_COUNT = 2**53 - 1
DEEPEST = 6

Path = tuple[str, ...]
Counts = dict[Path, int]


Variants = frozenset[str | None]
"""Price variants that a word may mean; None among them: the standard price, of no variant."""


class Fields(NamedTuple):
    """What the fields of one API's usage object are.

    ``counts``: whole numbers, all of them used or checked. ``words``: text that can change the
    price, by its known values and the price variants that each may mean (None: any, it says nothing
    about that). ``ignored``: what says
    nothing about the price, with all below it. ``lists``: arrays of objects, told apart by a field.
    ``repeats``: arrays of which the entries of some kinds say again what is said elsewhere.
    """

    counts: frozenset[Path]
    words: Mapping[Path, Mapping[str, Variants | None]]
    ignored: frozenset[Path]
    lists: Mapping[Path, str]
    repeats: Mapping[Path, tuple[str, str]]


class Told(NamedTuple):
    """A word of the object that tells of a price variant, and where it stands."""

    path: str
    word: str
    variants: Variants


class Seen(NamedTuple):
    """What was found: counts that were given, and the words that tell of a price variant."""

    counts: Counts
    told: tuple[Told, ...]


def dotted(path: Path) -> str:
    """A path as callers read it."""
    return ".".join(path)


def read(usage: Mapping[str, Any], fields: Fields) -> Seen:
    """Sort every field of ``usage`` into what it is.

    A field that isn't known is passed over only where it counts nothing: null, 0, false, empty.

    Raises:
        UsageUnrecognisedError: a field isn't known, or isn't what it should be.
    """
    counts: Counts = {}
    told: list[Told] = []
    unclear: list[UnclearField] = []
    for path, value in _leaves(usage, fields, (), unclear):
        if path in fields.counts:
            _take_count(path, value, counts, unclear)
        elif path in fields.words:
            _take_word(path, value, fields.words[path], told, unclear)
        elif not _counts_nothing(value):
            unclear.append(UnclearField(dotted(path), "is not known, and may be billable"))
    if unclear:
        raise UsageUnrecognisedError(unclear)
    if told and not frozenset.intersection(*(one.variants for one in told)):
        raise UsageUnrecognisedError.of(told[0].path, "contradicts another price variant")
    return Seen(counts, tuple(told))


def _take_count(path: Path, value: Any, counts: Counts, unclear: list[UnclearField]) -> None:
    if type(value) is int and 0 <= value <= MOST_COUNT:
        counts[path] = value
    elif value is not None:
        unclear.append(UnclearField(dotted(path), "must be a whole number, 0 to 2^53-1"))


def _take_word(
    path: Path,
    value: Any,
    known: Mapping[str, Variants | None],
    told: list[Told],
    unclear: list[UnclearField],
) -> None:
    if value is None:
        return
    if not isinstance(value, str) or value not in known:
        unclear.append(UnclearField(dotted(path), "has a value with a price that is not known"))
        return
    variants = known[value]
    if variants is not None:
        told.append(Told(dotted(path), value, variants))


def _leaves(
    value: Mapping[str, Any], fields: Fields, above: Path, unclear: list[UnclearField]
) -> Iterator[tuple[Path, Any]]:
    for key, inner in value.items():
        path = (*above, key)
        if path in fields.ignored:
            continue
        if isinstance(inner, dict) and len(path) < DEEPEST:
            yield from _leaves(inner, fields, path, unclear)
        elif path in fields.lists and isinstance(inner, list):
            yield from _entries(inner, fields, path, unclear)
        elif path in fields.repeats and isinstance(inner, list):
            yield path, [item for item in inner if not _is_of_kind(item, fields.repeats[path])]
        else:
            yield path, inner


def _entries(
    items: list[Any], fields: Fields, path: Path, unclear: list[UnclearField]
) -> Iterator[tuple[Path, Any]]:
    told_apart_by, seen = fields.lists[path], set[str]()
    for item in items:
        name = item.get(told_apart_by) if isinstance(item, dict) else None
        if not isinstance(name, str):
            unclear.append(UnclearField(dotted(path), f"has an entry without {told_apart_by}"))
        elif name in seen:
            unclear.append(UnclearField(dotted((*path, name)), "appears twice"))
        else:
            seen.add(name)
            rest = {key: value for key, value in item.items() if key != told_apart_by}
            yield from _leaves(rest, fields, (*path, name), unclear)


def _is_of_kind(item: Any, kind: tuple[str, str]) -> bool:
    name, value = kind
    return isinstance(item, dict) and item.get(name) == value


def _counts_nothing(value: Any, depth: int = 0) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return depth < DEEPEST and all(_counts_nothing(inner, depth + 1) for inner in value)
    return value is None or value in {0, ""}
