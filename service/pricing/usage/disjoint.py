"""From a provider's counts, which contain each other, to the disjoint dimensions."""

from collections.abc import Mapping
from itertools import combinations

from service.pricing.dimensions import DIMENSIONS, REGISTRY, parts_of, shared_by, wholes_of
from service.pricing.usage.api import Api
from service.pricing.usage.errors import UnclearField, UsageUnrecognisedError
from service.pricing.usage.fields import Counts, Path, dotted

__all__ = ["dimensions"]


def dimensions(api: Api, counts: Counts) -> dict[str, int]:
    """Every unit in exactly one dimension; none that is 0, but for ``input_tokens`` of nothing.

    Raises:
        UsageUnrecognisedError: a count is missing, two contradict each other, or one has no
            dimension.
    """
    counts = api.prepare(_under_one_name(api, counts))
    _check_required(api, counts)
    _check_sums(api, counts)
    _check_parts(api, counts)
    found = _disjoint(_genai_counts(api, counts))
    return found or {"input_tokens": 0}


def _under_one_name(api: Api, counts: Counts) -> Counts:
    joined = dict(counts)
    for names in api.same:
        given = [name for name in names if name in counts]
        if len({counts[name] for name in given}) > 1:
            raise UsageUnrecognisedError.of(dotted(given[-1]), f"contradicts {dotted(given[0])}")
        if given:
            joined[names[0]] = counts[given[0]]
    return joined


def _check_required(api: Api, counts: Counts) -> None:
    missing = sorted(api.required - counts.keys())
    if missing:
        raise UsageUnrecognisedError([UnclearField(dotted(p), "is missing") for p in missing])


def _check_sums(api: Api, counts: Counts) -> None:
    for whole, ways in api.sums:
        if not any(path in counts for way in ways for path in way):
            continue
        known = counts.get(whole)
        sums = [sum(counts.get(path, 0) for path in way) for way in ways]
        if known is None and _is_split(api, whole):
            known = 0
        if known is not None and known not in sums:
            names = " + ".join(map(dotted, ways[0]))
            raise UsageUnrecognisedError.of(
                dotted(whole), f"is {known}, and {names} make {sums[0]}"
            )


def _is_split(api: Api, whole: Path) -> bool:
    """Whether a sum is a count of its own that its parts only divide, not a mere total."""
    return any(path == whole for path, _ in api.destinations)


def _check_parts(api: Api, counts: Counts) -> None:
    for whole, parts in api.parts:
        total = sum(counts.get(path, 0) for path in parts)
        if total > counts.get(whole, 0):
            first = next(path for path in parts if counts.get(path))
            raise UsageUnrecognisedError.of(dotted(first), f"is more than {dotted(whole)} has")


def _genai_counts(api: Api, counts: Counts) -> dict[str, int]:
    """What the extractor of `genai_prices` makes of the counts, by its usage keys."""
    found = dict.fromkeys(api.never, 0)
    for path in api.whole_lists:
        if any(given[:-2] == path for given in counts):
            found.update(dict.fromkeys(api.within(path), 0))
    for path, key in api.destinations:
        if path in counts:
            found[key] = found.get(key, 0) + counts[path]
    return found


def _disjoint(counts: Mapping[str, int]) -> dict[str, int]:
    _refuse_overlaps(counts)
    found: dict[str, int] = {}
    for key, count in _leaves(counts).items():
        dimension = DIMENSIONS.get(key)
        if count and dimension is None:
            raise UsageUnrecognisedError.of("", f"{key} has no dimension")
        if count and dimension is not None:
            found[dimension] = found.get(dimension, 0) + count
    return found


def _leaves(counts: Mapping[str, int]) -> dict[str, int]:
    """Of every count, what is in none of its parts."""
    leaves: dict[str, int] = {}
    for key in sorted(counts, key=lambda key: (-len(REGISTRY.units[key].dimensions), key)):
        parts = [part for part in leaves if part in parts_of(key)]
        leaves[key] = counts[key] - sum(leaves[part] for part in parts)
        if leaves[key] < 0:
            names = " + ".join(sorted(part for part in parts if counts[part]))
            raise UsageUnrecognisedError.of("", f"{names} is more than {key}, which includes it")
    _refuse_parts_without_wholes(counts)
    return leaves


def _refuse_parts_without_wholes(counts: Mapping[str, int]) -> None:
    for key, count in counts.items():
        if count and not wholes_of(key) <= counts.keys():
            missing = min(wholes_of(key) - counts.keys())
            raise UsageUnrecognisedError.of("", f"{key} is part of {missing}, which is missing")


def _refuse_overlaps(counts: Mapping[str, int]) -> None:
    """Refuse two counts that may share units when nothing says how many they share."""
    for one, other in combinations([key for key in sorted(counts) if counts[key]], 2):
        shared = shared_by(one, other)
        if shared is not None and shared not in counts:
            raise UsageUnrecognisedError.of("", f"how much of {one} is {other} is not said")
