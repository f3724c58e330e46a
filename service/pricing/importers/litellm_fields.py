"""What each price field of LiteLLM's list means; a field with no meaning here refuses its model."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from service.pricing.rates import Rate, rate_of

__all__ = [
    "ITEMS",
    "TOKENS",
    "Field",
    "LeftOut",
    "UnclearPriceError",
    "classify",
    "is_price",
    "stated",
]

MILLION: Final = 10**6

TOKENS: Final = {
    "input_cost_per_token": "input_tokens",
    "output_cost_per_token": "output_tokens",
    "cache_read_input_token_cost": "cached_input_tokens",
    "input_cost_per_token_cache_hit": "cached_input_tokens",
    "cache_creation_input_token_cost": "cache_write_tokens",
    "output_cost_per_reasoning_token": "reasoning_tokens",
    "citation_cost_per_token": "citation_tokens",
    "input_cost_per_audio_token": "input_audio_tokens",
    "output_cost_per_audio_token": "output_audio_tokens",
    "cache_read_input_audio_token_cost": "cached_input_audio_tokens",
    "input_cost_per_image_token": "input_image_tokens",
    "output_cost_per_image_token": "output_image_tokens",
    "cache_read_input_image_token_cost": "cached_input_image_tokens",
    "input_cost_per_video_token": "input_video_tokens",
    "output_cost_per_video_token": "output_video_tokens",
}
"""For one token."""

CALLS: Final = {
    "input_cost_per_request": ("requests", 1),
    "file_search_cost_per_1k_calls": ("file_searches", 1000),
    "code_interpreter_cost_per_session": ("code_sessions", 1),
    "google_maps_grounding_cost_per_query": ("map_queries", 1),
}
"""For so many calls of a tool: on top of the tokens."""

ITEMS: Final = {
    ("input_cost_per_image", None): "input_images",
    ("output_cost_per_image", None): "output_images",
    ("input_cost_per_character", None): "input_characters",
    ("output_cost_per_character", None): "output_characters",
    ("ocr_cost_per_page", None): "pages",
    ("annotation_cost_per_page", None): "annotated_pages",
    ("input_cost_per_second", "audio_transcription"): "input_audio_seconds",
    ("output_cost_per_second", "audio_speech"): "output_audio_seconds",
    ("output_cost_per_second", "video_generation"): "output_video_seconds",
}
"""For one item, in models of a mode: instead of tokens, so never beside a price of tokens."""

SEARCH: Final = "search_context_cost_per_query"

_VARIANTS: Final = {"batches": "batch", "flex": "flex", "priority": "priority"}
_REST: Final = re.compile(r"(_above_\d+hr)?(?:_above_(\d+)k_tokens)?(?:_([a-z]+))?")
_LONGEST_FIRST: Final = sorted(TOKENS, key=len, reverse=True)

_LEFT_OUT: Final = frozenset(
    {
        "cache_creation_input_audio_token_cost",
        "computer_use_input_cost_per_1k_tokens",
        "computer_use_output_cost_per_1k_tokens",
        "file_search_cost_per_gb_per_day",
        "vector_store_cost_per_gb_per_day",
    }
)
"""What no usage counts as a dimension: a request that uses it is refused, or billed elsewhere."""

_NO_PRICE: Final = re.compile(r".*_dbu_cost_.*|.*_uplift_multiplier.*")
"""The same price in another currency, and what a region adds, which is another model's name."""


class UnclearPriceError(ValueError):
    """A price that tables can't express."""


class Field(NamedTuple):
    """``usd`` for every ``per`` of a dimension, above a number of input tokens, in a variant."""

    dimension: str
    usd: Decimal
    per: int
    above: int = 0
    variant: str | None = None

    @property
    def rate(self) -> Rate:
        """The rate: of a token, for a million of them.

        Raises:
            InexactRateError: it has more digits than a rate can hold.
        """
        return rate_of(self.usd, self.per, MILLION if self.dimension.endswith("_tokens") else 1)


class LeftOut(NamedTuple):
    """A field that is not taken, and why that is safe."""

    reason: str


def is_price(name: str) -> bool:
    """Whether a field can be one of price: whatever is called so must be understood."""
    return ("cost" in name or "pric" in name) and not _NO_PRICE.fullmatch(name)


def stated(name: str, value: Any) -> bool:
    """Whether a field states a price. The list fills with 0 what it doesn't know.

    A 0 is a price only of the input and the output themselves: a free model.
    """
    if isinstance(value, Mapping):
        return any(stated(name, inner) for inner in value.values())
    if name in {"input_cost_per_token", "output_cost_per_token"}:
        return value is not None
    return value is not None and value != 0


def classify(name: str, value: Any, mode: str) -> Field | LeftOut:
    """What a price field says.

    Raises:
        UnclearPriceError: it isn't known.
    """
    if name == SEARCH:
        return _search(value)
    if name == "off_peak_pricing":
        raise UnclearPriceError("its price depends on the time of day")
    usd = _number(name, value)
    if name in CALLS:
        dimension, per = CALLS[name]
        return Field(dimension, usd, per)
    if item := ITEMS.get((name, None)) or ITEMS.get((name, mode)):
        return Field(item, usd, 1)
    if name in _LEFT_OUT:
        return LeftOut(f"{name}: no usage counts it")
    return _of_tokens(name, usd)


def _of_tokens(name: str, usd: Decimal) -> Field | LeftOut:
    base = next((base for base in _LONGEST_FIRST if name.startswith(base)), None)
    rest = _REST.fullmatch(name.removeprefix(base)) if base else None
    if base is None or rest is None:
        raise UnclearPriceError(f"{name} is not understood")
    kept, thousands, suffix = rest.groups()
    dimension = TOKENS[base]
    if kept == "_above_1hr" and dimension == "cache_write_tokens":
        dimension = "cache_write_1h_tokens"
    elif kept:
        return LeftOut(f"{name}: no dimension counts it, so its use is refused")
    if suffix and suffix not in _VARIANTS:
        return LeftOut(f"{suffix} is not batch, flex or priority")
    above = int(thousands) * 1000 if thousands else 0
    return Field(dimension, usd, 1, above, _VARIANTS.get(suffix))


def _search(value: Any) -> Field | LeftOut:
    if not isinstance(value, Mapping):
        raise UnclearPriceError(f"{SEARCH} is not understood")
    prices = {_number(SEARCH, price) for price in value.values()}
    if len(prices) > 1:
        return LeftOut(f"{SEARCH}: depends on the size, so that searches are refused")
    return Field("web_searches", prices.pop(), 1)


def _number(name: str, value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise UnclearPriceError(f"{name} is not a number")
    return Decimal(value)
