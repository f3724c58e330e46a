"""What the usage object of each provider API is made of.

The counts that become dimensions, and how they contain each other, are those of the extractors of
`genai_prices`. Added here is what an extractor passes over: sums to check, second names for one
count, text that changes a price, and the closed list of what may be ignored.
"""

from collections.abc import Mapping
from typing import Final

from genai_prices.data import providers
from genai_prices.types import UsageExtractor

from service.pricing.usage.api import Api
from service.pricing.usage.fields import Counts, Path, Variants

__all__ = ["APIS"]


def _extractor(provider: str, flavor: str = "default") -> UsageExtractor:
    (found,) = (
        extractor
        for one in providers
        if one.id == provider
        for extractor in one.extractors or ()
        if extractor.api_flavor == flavor
    )
    return found


def _p(text: str) -> Path:
    return tuple(text.split("."))


def _paths(*texts: str) -> tuple[Path, ...]:
    return tuple(map(_p, texts))


def _only(*variants: str | None) -> Variants:
    return frozenset(variants)


_PREDICTIONS = (
    "completion_tokens_details.accepted_prediction_tokens",
    "completion_tokens_details.rejected_prediction_tokens",
)

_CHAT_PARTS = (
    (
        _p("prompt_tokens"),
        _paths(
            "prompt_tokens_details.text_tokens",
            "prompt_tokens_details.audio_tokens",
            "prompt_tokens_details.image_tokens",
        ),
    ),
    (
        _p("completion_tokens"),
        _paths("completion_tokens_details.text_tokens", "completion_tokens_details.audio_tokens"),
    ),
    (_p("completion_tokens"), _paths(*_PREDICTIONS)),
)

_CHAT_SUM = (_p("total_tokens"), (_paths("prompt_tokens", "completion_tokens"),))

_CHAT = Api(
    _extractor("openai", "chat"),
    required=frozenset(_paths("prompt_tokens", "completion_tokens")),
    sums=(_CHAT_SUM,),
    parts=_CHAT_PARTS,
)

_RESPONSES = Api(
    _extractor("openai", "responses"),
    required=frozenset(_paths("input_tokens", "output_tokens")),
    sums=((_p("total_tokens"), (_paths("input_tokens", "output_tokens"),)),),
    parts=(
        (
            _p("input_tokens_details.cache_write_tokens"),
            _paths("input_tokens_details.cache_write_tokens_details.ttl_30m_tokens"),
        ),
    ),
)

_EMBEDDINGS = Api(
    _extractor("openai", "embeddings"),
    required=frozenset(_paths("prompt_tokens")),
    sums=((_p("total_tokens"), (_paths("prompt_tokens"),)),),
)

_ANTHROPIC = Api(
    _extractor("anthropic"),
    required=frozenset(_paths("input_tokens", "output_tokens")),
    sums=(
        (
            _p("cache_creation_input_tokens"),
            (
                _paths(
                    "cache_creation.ephemeral_5m_input_tokens",
                    "cache_creation.ephemeral_1h_input_tokens",
                ),
            ),
        ),
    ),
    words={
        _p("service_tier"): {
            "standard": _only(None),
            "batch": _only("batch"),
            "priority": _only("priority"),
        },
        _p("inference_geo"): {"global": None, "not_available": None},
        _p("speed"): {"standard": None},
    },
    ignored=frozenset(_paths("server_tool_use.web_fetch_requests")),
    repeats={_p("iterations"): ("type", "message")},
)

_MODALITIES = ("TEXT", "AUDIO", "IMAGE", "DOCUMENT", "VIDEO", "MODALITY_UNSPECIFIED")


def _modalities(of: str) -> tuple[Path, ...]:
    return tuple((of, modality, "tokenCount") for modality in _MODALITIES)


_GOOGLE_LISTS = {
    "promptTokensDetails": "promptTokenCount",
    "cacheTokensDetails": "cachedContentTokenCount",
    "candidatesTokensDetails": "candidatesTokenCount",
    "toolUsePromptTokensDetails": "toolUsePromptTokenCount",
}

_GOOGLE = Api(
    _extractor("google"),
    required=frozenset(_paths("promptTokenCount")),
    sums=(
        (
            _p("totalTokenCount"),
            (
                _paths(
                    "promptTokenCount",
                    "candidatesTokenCount",
                    "thoughtsTokenCount",
                    "toolUsePromptTokenCount",
                ),
            ),
        ),
    ),
    parts=tuple((_p(whole), _modalities(of)) for of, whole in _GOOGLE_LISTS.items()),
    words={
        _p("trafficType"): {
            "TRAFFIC_TYPE_UNSPECIFIED": None,
            # what runs as a batch is on demand too; flex and priority have words of their own
            "ON_DEMAND": _only(None, "batch"),
            "ON_DEMAND_FLEX": _only("flex"),
            "ON_DEMAND_PRIORITY": _only("priority"),
        },
        _p("serviceTier"): {
            "unspecified": None,
            "standard": _only(None),
            "flex": _only("flex"),
            "priority": _only("priority"),
        },
    },
    lists={_p(of): "modality" for of in _GOOGLE_LISTS},
    whole_lists=frozenset(_paths("cacheTokensDetails")),
    never=frozenset(f"output_{kind}_reasoning_tokens" for kind in ("audio", "image", "video")),
)

_BEDROCK = Api(
    _extractor("aws"),
    required=frozenset(_paths("inputTokens", "outputTokens")),
    same=(
        _paths("cacheReadInputTokens", "cacheReadInputTokenCount"),
        _paths("cacheWriteInputTokens", "cacheWriteInputTokenCount"),
    ),
    sums=(
        (
            _p("totalTokens"),
            (
                _paths("inputTokens", "outputTokens"),
                _paths(
                    "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"
                ),
            ),
        ),
        (
            _p("cacheWriteInputTokens"),
            (_paths("cacheDetails.5m.inputTokens", "cacheDetails.1h.inputTokens"),),
        ),
    ),
    lists={_p("cacheDetails"): "ttl"},
)

_MISTRAL = Api(
    _extractor("mistral"),
    required=frozenset(_paths("prompt_tokens", "completion_tokens")),
    same=(_paths("prompt_tokens_details.cached_tokens", "num_cached_tokens"),),
    sums=(_CHAT_SUM,),
)


def _reasoning_within(counts: Counts) -> Counts:
    """Count reasoning among the completion where a server counts it beside it, as the total tells.

    Without completion tokens and with a total of the prompt, it was an embedding.
    """
    prompt, completion, total = (
        counts.get(_p(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    reasoning = counts.get(_p("completion_tokens_details.reasoning_tokens"), 0)
    if completion is None and prompt is not None and prompt == total:
        return {**counts, _p("completion_tokens"): 0}
    if prompt is None or completion is None or total != prompt + completion + reasoning:
        return counts
    return {**counts, _p("completion_tokens"): completion + reasoning}


_COMPATIBLE = Api(
    _extractor("openai", "chat"),
    required=frozenset(_paths("prompt_tokens", "completion_tokens")),
    same=(
        _paths(
            "prompt_tokens_details.cached_tokens",
            "cached_tokens",
            "num_cached_tokens",
            "prompt_cache_hit_tokens",
        ),
    ),
    sums=(
        _CHAT_SUM,
        (_p("prompt_tokens"), (_paths("prompt_cache_hit_tokens", "prompt_cache_miss_tokens"),)),
    ),
    parts=_CHAT_PARTS,
    ignored=frozenset(
        _paths(
            # what it cost, as the provider says: OpenRouter, xAI, Perplexity
            "cost", "cost_details", "is_byok", "cost_in_usd_ticks", "search_context_size",
            # how long it took: Groq
            "queue_time", "prompt_time", "completion_time", "total_time",
        )
    ),
    prepare=_reasoning_within,
)  # fmt: skip

APIS: Final[Mapping[str, Api]] = {
    "openai_chat": _CHAT,
    "openai_responses": _RESPONSES,
    "openai_embeddings": _EMBEDDINGS,
    "openai_compatible": _COMPATIBLE,
    "anthropic_messages": _ANTHROPIC,
    "google_generate_content": _GOOGLE,
    "bedrock_converse": _BEDROCK,
    "mistral_chat": _MISTRAL,
}
"""By the name that `provider_usage` says as ``api``."""
