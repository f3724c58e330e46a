"""Usage objects that are not understood, and the fields that the refusal names."""

import pytest

from service.pricing.usage import UsageUnrecognisedError, read_usage
from tests.pricing.usage_objects import CHAT, CONVERSE, GENERATE, MESSAGES


def chat(**changes):
    return {**CHAT, **changes}


REFUSED = [
    ("openai_chat", {}, ["completion_tokens", "prompt_tokens"]),
    ("openai_chat", {"input": 7, "output": 9}, ["input", "output"]),
    ("openai_chat", {"input": 0, "output": 0}, ["completion_tokens", "prompt_tokens"]),
    ("openai_chat", {"prompt_tokens": None, "completion_tokens": 4}, ["prompt_tokens"]),
    ("openai_chat", chat(prompt_tokens=True), ["prompt_tokens"]),
    ("openai_chat", chat(prompt_tokens="27147"), ["prompt_tokens"]),
    ("openai_chat", chat(prompt_tokens=27147.0), ["prompt_tokens"]),
    ("openai_chat", chat(prompt_tokens=-1), ["prompt_tokens"]),
    ("openai_chat", chat(prompt_tokens=2**53), ["prompt_tokens"]),
    ("openai_chat", chat(prompt_tokens_details=27146), ["prompt_tokens_details"]),
    ("openai_chat", chat(prompt_tokens_details=[27146]), ["prompt_tokens_details"]),
    ("openai_chat", chat(video_tokens=1), ["video_tokens"]),
    ("openai_chat", chat(prompt_tokens_details={"video_tokens": 1}), ["prompt_tokens_details.video_tokens"]),
    ("openai_chat", chat(speed="fast"), ["speed"]),
    ("openai_chat", chat(total_tokens=27499), ["total_tokens"]),
    ("openai_chat", chat(prompt_tokens_details={"cached_tokens": 27148}), [""]),
    ("openai_chat", chat(completion_tokens_details={"reasoning_tokens": 352}), [""]),
    ("openai_chat", chat(completion_tokens_details={"rejected_prediction_tokens": 352}),
     ["completion_tokens_details.rejected_prediction_tokens"]),
    ("openai_chat", chat(prompt_tokens_details={"cached_tokens": 5, "audio_tokens": 5}), [""]),
    ("openai_responses",
     {"input_tokens": 9, "output_tokens": 1, "input_tokens_details":
      {"cache_write_tokens": 5, "cache_write_tokens_details": {"ttl_12h_tokens": 5}}},
     ["input_tokens_details.cache_write_tokens_details.ttl_12h_tokens"]),
    ("anthropic_messages", {"output_tokens": 5}, ["input_tokens"]),
    ("anthropic_messages", {**MESSAGES, "cache_creation_input_tokens": 1}, ["cache_creation_input_tokens"]),
    ("anthropic_messages", {**MESSAGES, "cache_creation_input_tokens": None}, ["cache_creation_input_tokens"]),
    ("anthropic_messages", {**MESSAGES, "inference_geo": "us"}, ["inference_geo"]),
    ("anthropic_messages", {**MESSAGES, "speed": "fast"}, ["speed"]),
    ("anthropic_messages", {**MESSAGES, "service_tier": "express"}, ["service_tier"]),
    ("anthropic_messages", {**MESSAGES, "service_tier": 1}, ["service_tier"]),
    ("anthropic_messages", {**MESSAGES, "iterations": [{"type": "compaction", "input_tokens": 9}]}, ["iterations"]),
    ("anthropic_messages", {**MESSAGES, "iterations": [{"type": "message"}, {"type": "advisor_message"}]},
     ["iterations"]),
    ("anthropic_messages", {**MESSAGES, "iterations": {"type": "message"}}, ["iterations.type"]),
    ("anthropic_messages", {**MESSAGES, "server_tool_use": {"code_execution_requests": 1}},
     ["server_tool_use.code_execution_requests"]),
    ("google_generate_content", {"candidatesTokenCount": 5}, ["promptTokenCount"]),
    ("google_generate_content", {**GENERATE, "totalTokenCount": 1}, ["totalTokenCount"]),
    ("google_generate_content", {**GENERATE, "trafficType": "PROVISIONED_THROUGHPUT"}, ["trafficType"]),
    ("google_generate_content",
     {"promptTokenCount": 9, "trafficType": "ON_DEMAND_FLEX", "serviceTier": "priority"}, ["trafficType"]),
    ("google_generate_content",
     {"promptTokenCount": 9, "trafficType": "ON_DEMAND", "serviceTier": "flex"}, ["trafficType"]),
    ("google_generate_content", {"promptTokenCount": 9, "promptTokensDetails": [{"tokenCount": 9}]},
     ["promptTokensDetails"]),
    ("google_generate_content", {"promptTokenCount": 9, "promptTokensDetails": [9]}, ["promptTokensDetails"]),
    ("google_generate_content", {"promptTokenCount": 9, "promptTokensDetails": {"TEXT": 9}},
     ["promptTokensDetails.TEXT"]),
    ("google_generate_content",
     {"promptTokenCount": 9, "promptTokensDetails": [{"modality": "SMELL", "tokenCount": 9}]},
     ["promptTokensDetails.SMELL.tokenCount"]),
    ("google_generate_content",
     {"promptTokenCount": 9, "promptTokensDetails": [{"modality": "IMAGE", "tokenCount": 10}]},
     ["promptTokensDetails.IMAGE.tokenCount"]),
    ("google_generate_content",
     {"promptTokenCount": 9, "promptTokensDetails":
      [{"modality": "IMAGE", "tokenCount": 1}, {"modality": "IMAGE", "tokenCount": 1}]},
     ["promptTokensDetails.IMAGE"]),
    ("google_generate_content",
     {"promptTokenCount": 9, "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 1}]},
     ["cacheTokensDetails.AUDIO.tokenCount"]),
    ("google_generate_content",
     {"promptTokenCount": 9, "cachedContentTokenCount": 5, "promptTokensDetails":
      [{"modality": "IMAGE", "tokenCount": 4}]}, [""]),
    ("bedrock_converse", {**CONVERSE, "totalTokens": 5}, ["totalTokens"]),
    ("bedrock_converse", {**CONVERSE, "cacheWriteInputTokens": 99}, ["totalTokens"]),
    ("bedrock_converse", {**CONVERSE, "cacheDetails": [{"ttl": "5m", "inputTokens": 99}]}, ["cacheWriteInputTokens"]),
    ("bedrock_converse", {**CONVERSE, "cacheDetails": [{"ttl": "24h", "inputTokens": 100}]},
     ["cacheDetails.24h.inputTokens"]),
    ("bedrock_converse", {**CONVERSE, "cacheReadInputTokenCount": 1}, ["cacheReadInputTokenCount"]),
    ("bedrock_converse", {**CONVERSE, "serverToolUsage": {"webSearch": 1}}, ["serverToolUsage.webSearch"]),
    ("mistral_chat", {"prompt_tokens": 10, "completion_tokens": 3, "prompt_audio_seconds": 7}, ["prompt_audio_seconds"]),
    ("mistral_chat",
     {"prompt_tokens": 9, "completion_tokens": 3, "num_cached_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}},
     ["num_cached_tokens"]),
    ("openai_compatible", {"prompt_tokens": 10, "completion_tokens": 3, "num_sources_used": 3}, ["num_sources_used"]),
    ("openai_compatible", {"prompt_tokens": 10, "completion_tokens": 3, "reasoning_tokens": 3}, ["reasoning_tokens"]),
    ("openai_compatible", {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 20}, ["total_tokens"]),
    ("openai_compatible", {"prompt_tokens": 10, "total_tokens": 20}, ["completion_tokens"]),
    ("openai_compatible",
     {"prompt_tokens": 10, "completion_tokens": 3, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
     ["prompt_tokens"]),
]  # fmt: skip


@pytest.mark.parametrize(("api", "usage", "paths"), REFUSED)
def test_what_is_not_understood_is_refused_by_name(api, usage, paths):
    with pytest.raises(UsageUnrecognisedError) as refused:
        read_usage(api, usage)
    assert [field.path for field in refused.value.fields] == paths


@pytest.mark.parametrize("nothing", [None, 0, 0.0, False, "", [], {}, [0, None], {"a": {"b": [0]}}])
def test_an_unknown_field_that_counts_nothing_is_passed_over(nothing):
    assert read_usage("openai_chat", chat(news=nothing)) == read_usage("openai_chat", CHAT)


@pytest.mark.parametrize("something", [1, 0.5, True, "x", [1], {"a": [{"b": 1}]}])
def test_an_unknown_field_that_counts_something_is_refused(something):
    with pytest.raises(UsageUnrecognisedError, match="is not known"):
        read_usage("openai_chat", chat(news=something))
