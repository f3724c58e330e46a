"""From a provider's counts, which contain each other, to the disjoint dimensions."""

from collections.abc import Mapping
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from genai_prices.decompose import compute_leaf_values
from genai_prices.types import ArrayMatch, UsageExtractor

from service.pricing.dimensions import REGISTRY, dimension_of, is_part_of, of_same_dimension
from service.pricing.usage.apis import Api, path_of
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
    return any(path_of(mapping) == whole for mapping in api.extractor.mappings)


def _check_parts(api: Api, counts: Counts) -> None:
    for whole, parts in api.parts:
        total = sum(counts.get(path, 0) for path in parts)
        if total > counts.get(whole, 0):
            first = next(path for path in parts if counts.get(path))
            raise UsageUnrecognisedError.of(dotted(first), f"is more than {dotted(whole)} has")


def _genai_counts(api: Api, counts: Counts) -> dict[str, int]:
    """What the extractor of `genai_prices` makes of the counts, by its usage keys."""
    _, usage = api.extractor.extract(_as_response(api.extractor, counts))
    found = dict.fromkeys(api.never, 0)
    for mapping in api.extractor.mappings:
        path = path_of(mapping)
        if path in counts or path[:1] in api.whole_lists & _given(counts):
            found[mapping.dest] = int(usage.reported_value(mapping.dest))
    return found


def _given(counts: Counts) -> frozenset[Path]:
    return frozenset(path[:1] for path in counts if len(path) > 1)


def _as_response(extractor: UsageExtractor, counts: Counts) -> dict[str, Any]:
    """A response that has the counts where the extractor looks for them."""
    usage: dict[str, Any] = {}
    for mapping in extractor.mappings:
        path = path_of(mapping)
        if path in counts:
            steps = [mapping.path] if isinstance(mapping.path, str) else mapping.path
            _put(usage, list(steps), counts[path])
    roots = [extractor.root] if isinstance(extractor.root, str) else extractor.root
    response: dict[str, Any] = usage
    for root in reversed(roots):
        assert isinstance(root, str)  # noqa: S101  # of every extractor used here
        response = {root: response}
    return response


def _put(into: Any, steps: list[str | ArrayMatch], value: int) -> None:
    step, *rest = steps
    if not rest:
        into[step] = value
    elif isinstance(rest[0], ArrayMatch):
        match = rest[0]
        entry: dict[str, Any] = {match.field: match.match.equals}  # type: ignore[union-attr]
        into.setdefault(step, []).append(entry)
        _put(entry, rest[1:], value)
    else:
        _put(into.setdefault(step, {}), rest, value)


def _disjoint(counts: Mapping[str, int]) -> dict[str, int]:
    kept = {key: count for key, count in counts.items() if of_same_dimension(key) is None}
    _refuse_overlaps(kept)
    found: dict[str, int] = {}
    for key, count in _leaves(kept).items():
        dimension = dimension_of(key)
        if count and dimension is None:
            raise UsageUnrecognisedError.of("", f"{key} has no dimension")
        if count and dimension is not None:
            found[dimension] = found.get(dimension, 0) + count
    return found


def _leaves(counts: dict[str, int]) -> dict[str, int]:
    try:
        leaves = compute_leaf_values(set(counts), SimpleNamespace(**counts), REGISTRY.units)
    except ValueError as error:
        raise UsageUnrecognisedError.of("", f"contradicts itself: {error}") from None
    return {key: int(count) for key, count in leaves.items()}


def _refuse_overlaps(counts: Mapping[str, int]) -> None:
    """Refuse two counts that may share units when nothing says how many they share."""
    for one, other in combinations([key for key in sorted(counts) if counts[key]], 2):
        first, second = REGISTRY.units[one], REGISTRY.units[other]
        if is_part_of(first, second) or is_part_of(second, first):
            continue
        if first.is_compatible_with(second):
            join = REGISTRY.find_join(first, second)
            if join is None or join.usage_key not in counts:
                raise UsageUnrecognisedError.of("", f"how much of {one} is {other} is not said")
