"""How one provider API's usage object is described."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from genai_prices.types import ArrayMatch, ClauseEquals, UsageExtractor, UsageExtractorMapping

from service.pricing.dimensions import of_same_dimension
from service.pricing.usage.fields import Counts, Fields, Path, Variants

__all__ = ["Api", "path_of"]


@dataclass(frozen=True)
class Api:
    """One API's usage object.

    ``same``: names of one count, the extractor's first. ``sums``: a count that is the sum of
    others, as any one of several ways of counting. ``parts``: counts that together are no more than
    a whole. ``whole_lists``: a list that, where it is given, leaves out only zeros. ``never``: what
    the API counts apart, by usage keys of `genai_prices`.
    """

    extractor: UsageExtractor
    required: frozenset[Path] = frozenset()
    same: tuple[tuple[Path, ...], ...] = ()
    sums: tuple[tuple[Path, tuple[tuple[Path, ...], ...]], ...] = ()
    parts: tuple[tuple[Path, tuple[Path, ...]], ...] = ()
    words: Mapping[Path, Mapping[str, Variants | None]] = field(default_factory=dict)
    ignored: frozenset[Path] = frozenset()
    lists: Mapping[Path, str] = field(default_factory=dict)
    repeats: Mapping[Path, tuple[str, str]] = field(default_factory=dict)
    whole_lists: frozenset[Path] = frozenset()
    never: frozenset[str] = frozenset()
    prepare: Callable[[Counts], Counts] = dict

    @cached_property
    def fields(self) -> Fields:
        """What each field is."""
        known = {path_of(mapping) for mapping in self.extractor.mappings}
        known.update(*self.same, self.required)
        for whole, ways in self.sums:
            known.update({whole}, *ways)
        for whole, parts in self.parts:
            known.update({whole}, parts)
        return Fields(frozenset(known), self.words, self.ignored, self.lists, self.repeats)

    @cached_property
    def destinations(self) -> tuple[tuple[Path, str], ...]:
        """Which count goes into which usage key of `genai_prices`; what is priced alike, once."""
        return tuple(
            (path_of(mapping), mapping.dest)
            for mapping in self.extractor.mappings
            if of_same_dimension(mapping.dest) is None
        )

    def within(self, path: Path) -> frozenset[str]:
        """The usage keys into which the entries of a list go."""
        return frozenset(key for inner, key in self.destinations if inner[: len(path)] == path)


def path_of(mapping: UsageExtractorMapping) -> Path:
    """The path that an extractor reads: an entry of a list is named by what tells it apart."""
    steps = [mapping.path] if isinstance(mapping.path, str) else mapping.path
    return tuple(_step(step) for step in steps)


def _step(step: str | ArrayMatch) -> str:
    if isinstance(step, str):
        return step
    assert isinstance(step.match, ClauseEquals)  # noqa: S101  # of every extractor used here
    return step.match.equals
