"""Usage objects that are not understood, and the fields that the refusal names."""

import pytest

from service.pricing.usage import UsageUnrecognisedError, read_usage
from tests.pricing.usage_objects import CHAT, CONVERSE, GENERATE, MESSAGES


def chat(**changes):
    return {**CHAT, **changes}


REFUSED = [
    ("openai_chat", {}, {"completion_tokens": "is missing", "prompt_tokens": "is missing"}),
    ("openai_chat", {"input": 7, "output": 9}, {"input": "is not known, and may be billable", "output": "is not known, and may be billable"}),
    ("openai_chat", {"input": 0, "output": 0}, {"completion_tokens": "is missing", "prompt_tokens": "is missing"}),
    ("openai_chat", {"prompt_tokens": None, "completion_tokens": 4}, {"prompt_tokens": "is missing"}),
    ("openai_chat", chat(prompt_tokens=True), {"prompt_tokens": "must be a whole number, 0 to 2^53-1"}),
    ("openai_chat", chat(prompt_tokens="27147"), {"prompt_tokens": "must be a whole number, 0 to 2^53-1"}),
    ("openai_chat", chat(prompt_tokens=27147.0), {"prompt_tokens": "must be a whole number, 0 to 2^53-1"}),
    ("openai_chat", chat(prompt_tokens=-1), {"prompt_tokens": "must be a whole number, 0 to 2^53-1"}),
    ("openai_chat", chat(prompt_tokens=2**53), {"prompt_tokens": "must be a whole number, 0 to 2^53-1"}),
    ("openai_chat", chat(prompt_tokens_details=27146), {"prompt_tokens_details": "is not known, and may be billable"}),
    ("openai_chat", chat(prompt_tokens_details=[27146]), {"prompt_tokens_details": "is not known, and may be billable"}),
    ("openai_chat", chat(video_tokens=1), {"video_tokens": "is not known, and may be billable"}),
    ("openai_chat", chat(prompt_tokens_details={"video_tokens": 1}),
     {"prompt_tokens_details.video_tokens": "is not known, and may be billable"}),
    ("openai_chat", chat(speed="fast"), {"speed": "is not known, and may be billable"}),
    ("openai_chat", chat(total_tokens=27499), {"total_tokens": "is 27499, and prompt_tokens + completion_tokens make 27498"}),
    ("openai_chat", chat(prompt_tokens_details={"cached_tokens": 27148}),
     {"": "cache_read_tokens is more than input_tokens, which includes it"}),
    ("openai_chat", chat(completion_tokens_details={"reasoning_tokens": 352}),
     {"": "output_reasoning_tokens is more than output_tokens, which includes it"}),
    ("openai_chat", chat(completion_tokens_details={"rejected_prediction_tokens": 352}),
     {"completion_tokens_details.rejected_prediction_tokens": "is more than completion_tokens has"}),
    ("openai_chat", chat(prompt_tokens_details={"cached_tokens": 5, "audio_tokens": 5}),
     {"": "how much of cache_read_tokens is input_audio_tokens is not said"}),
    ("openai_responses",
     {"input_tokens": 9, "output_tokens": 1, "input_tokens_details":
      {"cache_write_tokens": 5, "cache_write_tokens_details": {"ttl_12h_tokens": 5}}},
     {"input_tokens_details.cache_write_tokens_details.ttl_12h_tokens": "is not known, and may be billable"}),
    ("anthropic_messages", {"output_tokens": 5}, {"input_tokens": "is missing"}),
    ("anthropic_messages", {**MESSAGES, "cache_creation_input_tokens": 1},
     {"cache_creation_input_tokens": "is 1, and cache_creation.ephemeral_5m_input_tokens + cache_creation.ephemeral_1h_input_tokens make 12304"}),
    ("anthropic_messages", {**MESSAGES, "cache_creation_input_tokens": None},
     {"cache_creation_input_tokens": "is 0, and cache_creation.ephemeral_5m_input_tokens + cache_creation.ephemeral_1h_input_tokens make 12304"}),
    ("anthropic_messages", {**MESSAGES, "inference_geo": "us"}, {"inference_geo": "has a value with a price that is not known"}),
    ("anthropic_messages", {**MESSAGES, "speed": "fast"}, {"speed": "has a value with a price that is not known"}),
    ("anthropic_messages", {**MESSAGES, "service_tier": "express"}, {"service_tier": "has a value with a price that is not known"}),
    ("anthropic_messages", {**MESSAGES, "service_tier": 1}, {"service_tier": "has a value with a price that is not known"}),
    ("anthropic_messages", {**MESSAGES, "iterations": [{"type": "compaction", "input_tokens": 9}]},
     {"iterations": "is not known, and may be billable"}),
    ("anthropic_messages", {**MESSAGES, "iterations": [{"type": "message"}, {"type": "advisor_message"}]},
     {"iterations": "is not known, and may be billable"}),
    ("anthropic_messages", {**MESSAGES, "iterations": {"type": "message"}}, {"iterations.type": "is not known, and may be billable"}),
    ("anthropic_messages", {**MESSAGES, "server_tool_use": {"code_execution_requests": 1}},
     {"server_tool_use.code_execution_requests": "is not known, and may be billable"}),
    ("google_generate_content", {"candidatesTokenCount": 5}, {"promptTokenCount": "is missing"}),
    ("google_generate_content", {**GENERATE, "totalTokenCount": 1},
     {"totalTokenCount": "is 1, and promptTokenCount + candidatesTokenCount + thoughtsTokenCount + toolUsePromptTokenCount make 2400"}),
    ("google_generate_content", {**GENERATE, "trafficType": "PROVISIONED_THROUGHPUT"},
     {"trafficType": "has a value with a price that is not known"}),
    ("google_generate_content",
     {"promptTokenCount": 9, "trafficType": "ON_DEMAND_FLEX", "serviceTier": "priority"},
     {"trafficType": "contradicts another price variant"}),
    ("google_generate_content",
     {"promptTokenCount": 9, "trafficType": "ON_DEMAND", "serviceTier": "flex"}, {"trafficType": "contradicts another price variant"}),
    ("google_generate_content", {"promptTokenCount": 9, "promptTokensDetails": [{"tokenCount": 9}]},
     {"promptTokensDetails": "has an entry without modality"}),
    ("google_generate_content", {"promptTokenCount": 9, "promptTokensDetails": [9]},
     {"promptTokensDetails": "has an entry without modality"}),
    ("google_generate_content", {"promptTokenCount": 9, "promptTokensDetails": {"TEXT": 9}},
     {"promptTokensDetails.TEXT": "is not known, and may be billable"}),
    ("google_generate_content",
     {"promptTokenCount": 9, "promptTokensDetails": [{"modality": "SMELL", "tokenCount": 9}]},
     {"promptTokensDetails.SMELL.tokenCount": "is not known, and may be billable"}),
    ("google_generate_content",
     {"promptTokenCount": 9, "promptTokensDetails": [{"modality": "IMAGE", "tokenCount": 10}]},
     {"promptTokensDetails.IMAGE.tokenCount": "is more than promptTokenCount has"}),
    ("google_generate_content",
     {"promptTokenCount": 9, "promptTokensDetails":
      [{"modality": "IMAGE", "tokenCount": 1}, {"modality": "IMAGE", "tokenCount": 1}]},
     {"promptTokensDetails.IMAGE": "appears twice"}),
    ("google_generate_content",
     {"promptTokenCount": 9, "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 1}]},
     {"cacheTokensDetails.AUDIO.tokenCount": "is more than cachedContentTokenCount has"}),
    ("google_generate_content",
     {"promptTokenCount": 9, "cachedContentTokenCount": 5, "promptTokensDetails":
      [{"modality": "IMAGE", "tokenCount": 4}]}, {"": "how much of cache_read_tokens is input_image_tokens is not said"}),
    ("bedrock_converse", {**CONVERSE, "totalTokens": 5}, {"totalTokens": "is 5, and inputTokens + outputTokens make 104"}),
    ("bedrock_converse", {**CONVERSE, "cacheWriteInputTokens": 99}, {"totalTokens": "is 1904, and inputTokens + outputTokens make 104"}),
    ("bedrock_converse", {**CONVERSE, "cacheDetails": [{"ttl": "5m", "inputTokens": 99}]},
     {"cacheWriteInputTokens": "is 100, and cacheDetails.5m.inputTokens + cacheDetails.1h.inputTokens make 99"}),
    ("bedrock_converse", {**CONVERSE, "cacheDetails": [{"ttl": "24h", "inputTokens": 100}]},
     {"cacheDetails.24h.inputTokens": "is not known, and may be billable"}),
    ("bedrock_converse", {**CONVERSE, "cacheReadInputTokenCount": 1}, {"cacheReadInputTokenCount": "contradicts cacheReadInputTokens"}),
    ("bedrock_converse", {**CONVERSE, "serverToolUsage": {"webSearch": 1}},
     {"serverToolUsage.webSearch": "is not known, and may be billable"}),
    ("mistral_chat", {"prompt_tokens": 10, "completion_tokens": 3, "prompt_audio_seconds": 7},
     {"prompt_audio_seconds": "is not known, and may be billable"}),
    ("mistral_chat",
     {"prompt_tokens": 9, "completion_tokens": 3, "num_cached_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}},
     {"num_cached_tokens": "contradicts prompt_tokens_details.cached_tokens"}),
    ("openai_compatible", {"prompt_tokens": 10, "completion_tokens": 3, "num_sources_used": 3},
     {"num_sources_used": "is not known, and may be billable"}),
    ("openai_compatible", {"prompt_tokens": 10, "completion_tokens": 3, "reasoning_tokens": 3},
     {"reasoning_tokens": "is not known, and may be billable"}),
    ("openai_compatible", {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 20},
     {"total_tokens": "is 20, and prompt_tokens + completion_tokens make 13"}),
    ("openai_compatible", {"prompt_tokens": 10, "total_tokens": 20}, {"completion_tokens": "is missing"}),
    ("openai_compatible",
     {"prompt_tokens": 10, "completion_tokens": 3, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
     {"prompt_tokens": "is 10, and prompt_cache_hit_tokens + prompt_cache_miss_tokens make 9"}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "usage", "faults"), REFUSED)
def test_what_is_not_understood_is_refused_by_name(api, usage, faults):
    with pytest.raises(UsageUnrecognisedError) as refused:
        read_usage(api, usage)
    assert [(field.path, field.message) for field in refused.value.fields] == list(faults.items())


@pytest.mark.parametrize("nothing", [None, 0, 0.0, False, "", [], {}, [0, None], {"a": {"b": [0]}}])
def test_an_unknown_field_that_counts_nothing_is_passed_over(nothing):
    assert read_usage("openai_chat", chat(news=nothing)) == read_usage("openai_chat", CHAT)


@pytest.mark.parametrize("something", [1, 0.5, True, "x", [1], {"a": [{"b": 1}]}])
def test_an_unknown_field_that_counts_something_is_refused(something):
    with pytest.raises(UsageUnrecognisedError, match="is not known"):
        read_usage("openai_chat", chat(news=something))


def test_the_refusal_says_of_each_field_what_is_wrong_with_it():
    with pytest.raises(UsageUnrecognisedError) as refused:
        read_usage("openai_chat", {"input": 7, "prompt_tokens": -1})
    assert str(refused.value) == (
        "input: is not known, and may be billable; prompt_tokens: must be a whole number, 0 to 2^53-1"
    )


def test_a_contradiction_of_no_single_field_is_told_of_the_usage():
    with pytest.raises(UsageUnrecognisedError) as refused:
        read_usage("openai_chat", chat(prompt_tokens_details={"cached_tokens": 27148}))
    assert (
        str(refused.value)
        == "usage: cache_read_tokens is more than input_tokens, which includes it"
    )


def test_the_largest_count_is_read_and_a_count_of_null_is_none():
    usage = {"prompt_tokens": 2**53 - 1, "completion_tokens": 0, "total_tokens": None}
    assert read_usage("openai_chat", usage).usage == {"input_tokens": 2**53 - 1}


def test_what_stands_behind_a_field_that_says_nothing_about_the_price_is_read():
    usage = {"prompt_tokens": 10, "cost": 0.5, "completion_tokens": 3, "num_sources_used": 3}
    with pytest.raises(UsageUnrecognisedError, match="num_sources_used: is not known"):
        read_usage("openai_compatible", usage)


def test_objects_are_read_six_levels_deep():
    deep = {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}
    with pytest.raises(UsageUnrecognisedError, match=r"^a\.b\.c\.d\.e\.f: is not known"):
        read_usage("openai_chat", {**deep, **CHAT})


def test_lists_of_nothing_are_passed_over_six_levels_deep():
    nothing = [[[[[[0]]]]]]
    assert read_usage("openai_chat", chat(news=nothing)) == read_usage("openai_chat", CHAT)
    with pytest.raises(UsageUnrecognisedError, match="news: is not known"):
        read_usage("openai_chat", chat(news=[nothing]))
