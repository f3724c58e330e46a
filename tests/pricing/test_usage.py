"""Usage objects as the providers send them, and the disjoint dimensions that they become."""

from collections import Counter
from types import SimpleNamespace

import pytest
from genai_prices.decompose import compute_leaf_values

from service.pricing.dimensions import DIMENSIONS, REGISTRY
from service.pricing.usage import APIS, read_usage
from tests.pricing.usage_objects import CHAT, CONVERSE, GENERATE, MESSAGES

OBJECTS = [
    (
        "openai_chat",
        CHAT,
        {"input_tokens": 1, "cached_input_tokens": 27146, "output_tokens": 251, "reasoning_tokens": 100},
    ),
    (
        "openai_chat",
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "prompt_tokens_details": {"audio_tokens": 60, "text_tokens": 40, "image_tokens": 0},
            "completion_tokens_details": {"audio_tokens": 45, "text_tokens": 5},
        },
        {"input_tokens": 40, "input_audio_tokens": 60, "output_tokens": 5, "output_audio_tokens": 45},
    ),
    (
        "openai_responses",
        {
            "input_tokens": 10,
            "input_tokens_details": {
                "cached_tokens": 4,
                "cache_write_tokens": 3,
                "cache_write_tokens_details": {"ttl_30m_tokens": 3, "ttl_12h_tokens": 0},
            },
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 15,
        },
        {
            "input_tokens": 3,
            "cached_input_tokens": 4,
            "cache_write_tokens": 3,
            "output_tokens": 3,
            "reasoning_tokens": 2,
        },
    ),
    ("openai_embeddings", {"prompt_tokens": 14, "total_tokens": 14}, {"input_tokens": 14}),
    (
        "anthropic_messages",
        MESSAGES,
        {
            "input_tokens": 3,
            "cached_input_tokens": 40,
            "cache_write_tokens": 2304,
            "cache_write_1h_tokens": 10000,
            "output_tokens": 500,
            "reasoning_tokens": 50,
            "web_searches": 2,
        },
    ),
    (
        "anthropic_messages",
        {"input_tokens": 3, "cache_creation_input_tokens": 12304, "output_tokens": 550},
        {"input_tokens": 3, "cache_write_tokens": 12304, "output_tokens": 550},
    ),
    (
        "google_generate_content",
        GENERATE,
        {
            "input_tokens": 162,
            "cached_input_tokens": 300,
            "input_image_tokens": 358,
            "cached_input_image_tokens": 100,
            "input_audio_tokens": 60,
            "input_video_tokens": 40,
            "output_tokens": 60,
            "output_image_tokens": 1290,
            "reasoning_tokens": 30,
        },
    ),
    (
        "google_generate_content",
        {
            "promptTokenCount": 8,
            "cachedContentTokenCount": 5,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 8}],
            "candidatesTokenCount": 2,
            "totalTokenCount": 10,
            "serviceTier": "standard",
        },
        {"input_tokens": 3, "cached_input_tokens": 5, "output_tokens": 2},
    ),
    (
        "bedrock_converse",
        CONVERSE,
        {
            "input_tokens": 4,
            "cached_input_tokens": 1700,
            "cache_write_tokens": 40,
            "cache_write_1h_tokens": 60,
            "output_tokens": 100,
        },
    ),
    (
        "bedrock_converse",
        {"inputTokens": 4, "outputTokens": 100, "totalTokens": 104, "cacheReadInputTokens": 1700,
         "cacheReadInputTokenCount": 1700, "serverToolUsage": {}},
        {"input_tokens": 4, "cached_input_tokens": 1700, "output_tokens": 100},
    ),
    (
        "mistral_chat",
        {
            "prompt_tokens": 10,
            "completion_tokens": 3,
            "total_tokens": 13,
            "prompt_audio_seconds": {},
            "num_cached_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
        {"input_tokens": 6, "cached_input_tokens": 4, "output_tokens": 3},
    ),
    (
        "openai_compatible",  # DeepSeek
        {
            "prompt_tokens": 100,
            "completion_tokens": 30,
            "total_tokens": 130,
            "prompt_cache_hit_tokens": 60,
            "prompt_cache_miss_tokens": 40,
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        {"input_tokens": 40, "cached_input_tokens": 60, "reasoning_tokens": 30},
    ),
    (
        "openai_compatible",  # xAI: reasoning is on top of the completion, as the total says
        {
            "prompt_tokens": 100,
            "completion_tokens": 30,
            "total_tokens": 150,
            "completion_tokens_details": {"reasoning_tokens": 20},
            "num_sources_used": 0,
            "cost_in_usd_ticks": 37756000,
        },
        {"input_tokens": 100, "output_tokens": 30, "reasoning_tokens": 20},
    ),
    (
        "openai_compatible",  # OpenRouter
        {
            "prompt_tokens": 5,
            "completion_tokens": 1,
            "total_tokens": 6,
            "cost": 0.00014,
            "is_byok": False,
            "cost_details": {"upstream_inference_cost": None},
            "prompt_tokens_details": None,
        },
        {"input_tokens": 5, "output_tokens": 1},
    ),
    (
        "openai_compatible",  # Groq
        {"prompt_tokens": 5, "completion_tokens": 1, "queue_time": 0.02, "total_time": 0.5},
        {"input_tokens": 5, "output_tokens": 1},
    ),
    ("openai_compatible", {"prompt_tokens": 7, "total_tokens": 7}, {"input_tokens": 7}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "usage", "dimensions"), OBJECTS)
def test_every_unit_is_in_exactly_one_dimension(api, usage, dimensions):
    reading = read_usage(api, usage)
    assert reading.usage == dimensions
    assert all(None in told.variants for told in reading.told)


def test_iterations_that_are_counted_in_the_whole_are_passed_over():
    iterations = [{"type": "message", "input_tokens": 3, "output_tokens": 550}] * 2
    assert read_usage("anthropic_messages", {**MESSAGES, "iterations": iterations}) == read_usage(
        "anthropic_messages", MESSAGES
    )


@pytest.mark.parametrize(
    ("api", "usage"),
    [(api, usage) for api, usage, _ in OBJECTS if api != "openai_compatible"],
)
def test_the_dimensions_are_those_of_genai_prices_own_extractor_and_division(api, usage):
    extractor = APIS[api].extractor
    _, extracted = extractor.extract({extractor.root: usage})
    reported = SimpleNamespace(**{key: extracted.reported_value(key) for key in DIMENSIONS})
    theirs: Counter[str] = Counter()
    for key, count in compute_leaf_values(set(DIMENSIONS), reported, REGISTRY.units).items():
        theirs[DIMENSIONS[key]] += count
    assert read_usage(api, usage).usage == +theirs


def test_the_same_object_gives_the_same_usage():
    assert list(read_usage("openai_chat", CHAT).usage.items()) == list(
        read_usage("openai_chat", dict(reversed(CHAT.items()))).usage.items()
    )


WORDS = {"service_tier", "trafficType", "serviceTier"}


def test_nothing_used_is_a_usage_of_no_input():
    assert read_usage("openai_chat", {"prompt_tokens": 0, "completion_tokens": 0}).usage == {
        "input_tokens": 0
    }


@pytest.mark.parametrize(
    ("api", "changes", "variants"),
    [
        ("anthropic_messages", {"service_tier": "batch"}, {"batch"}),
        ("anthropic_messages", {"service_tier": "priority"}, {"priority"}),
        ("anthropic_messages", {"service_tier": "standard"}, {None}),
        ("google_generate_content", {"trafficType": "ON_DEMAND_FLEX"}, {"flex"}),
        ("google_generate_content", {"trafficType": "ON_DEMAND_PRIORITY"}, {"priority"}),
        ("google_generate_content", {"trafficType": "ON_DEMAND"}, {None, "batch"}),
        ("google_generate_content", {"serviceTier": "priority"}, {"priority"}),
        ("google_generate_content", {"serviceTier": "flex"}, {"flex"}),
        ("google_generate_content", {"serviceTier": "standard"}, {None}),
    ],
)
def test_an_object_tells_which_price_variants_it_can_be_of(api, changes, variants):
    usage = {"anthropic_messages": MESSAGES, "google_generate_content": GENERATE}[api]
    silent = {name: value for name, value in usage.items() if name not in WORDS}
    [(path, word)] = changes.items()
    assert read_usage(api, {**silent, **changes}).told == ((path, word, frozenset(variants)),)


def test_a_word_that_says_nothing_of_a_variant_tells_of_none():
    silent = {"promptTokenCount": 9, "trafficType": "TRAFFIC_TYPE_UNSPECIFIED"}
    silent["serviceTier"] = "unspecified"
    assert read_usage("google_generate_content", silent).told == ()
    message = {"input_tokens": 1, "output_tokens": 1, "speed": "standard"}
    assert read_usage("anthropic_messages", message).told == ()
