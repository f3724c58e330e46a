"""Whatever a usage object is: it is read exactly, or refused by the one declared error."""

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from service.pricing.usage import APIS, UsageUnrecognisedError, read_usage

APIS_BY_NAME = sorted(APIS)
NAMES = {
    name: sorted({step for path in api.fields.counts for step in path})
    for name, api in APIS.items()
}

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(0, 50)
    | st.floats()
    | st.text(max_size=8)
)


def objects(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """JSON whose keys are often names that a provider uses, in the wrong places too."""
    keys = st.sampled_from([*names, "modality", "ttl", "iterations"]) | st.text(max_size=8)
    values = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=8,
    )
    return st.dictionaries(keys, values, max_size=6)


@settings(max_examples=300, deadline=None)
@given(
    api_and_usage=st.sampled_from(APIS_BY_NAME).flatmap(
        lambda api: st.tuples(st.just(api), objects(NAMES[api]))
    )
)
def test_no_object_raises_anything_but_the_declared_error(api_and_usage):
    api, usage = api_and_usage
    read, refused = _tried(api, usage)
    if refused is not None:
        assert json.dumps([field.path for field in refused.fields])
    else:
        assert read.usage
        assert all(type(count) is int and count >= 0 for count in read.usage.values())
        assert read_usage(api, json.loads(json.dumps(usage))) == read


def _tried(api: str, usage: dict[str, Any]) -> tuple[Any, UsageUnrecognisedError | None]:
    try:
        return read_usage(api, usage), None
    except UsageUnrecognisedError as error:
        return None, error


def test_an_object_nested_without_end_is_refused():
    usage: dict[str, Any] = {"deep": 1}
    for _ in range(100_000):
        usage = {"deep": usage}
    with pytest.raises(UsageUnrecognisedError):
        read_usage("openai_compatible", usage)


INPUTS = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "cache_write_1h_tokens",
          "input_audio_tokens", "cached_input_audio_tokens", "input_image_tokens",
          "cached_input_image_tokens", "input_video_tokens", "cached_input_video_tokens")  # fmt: skip
OUTPUTS = ("output_tokens", "reasoning_tokens", "output_audio_tokens", "output_image_tokens",
           "output_video_tokens")  # fmt: skip

counts = st.integers(0, 2**40) | st.integers(0, 9)


def within(whole: int) -> st.SearchStrategy[int]:
    return st.integers(0, whole)


def sums(usage: dict[str, int]) -> tuple[int, int]:
    """All input and all output; together they are every token dimension."""
    found = tuple(sum(usage.get(name, 0) for name in side) for side in (INPUTS, OUTPUTS))
    assert sum(found) == sum(n for name, n in usage.items() if name.endswith("_tokens"))
    return found


@settings(deadline=None)
@given(data=st.data(), api=st.sampled_from(["openai_chat", "mistral_chat", "openai_compatible"]))
def test_of_a_chat_completion_no_token_is_lost_or_counted_twice(data, api):
    prompt, completion = data.draw(counts), data.draw(counts)
    cached, reasoning = data.draw(within(prompt)), data.draw(within(completion))
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    read = read_usage(api, usage).usage
    assert sums(read) == (prompt, completion)
    assert read.get("cached_input_tokens", 0) == cached
    assert read.get("reasoning_tokens", 0) == reasoning


@settings(deadline=None)
@given(data=st.data())
def test_of_a_message_no_token_is_lost_or_counted_twice(data):
    plain, read_back, short, long = (data.draw(counts) for _ in range(4))
    output = data.draw(counts)
    usage = {
        "input_tokens": plain,
        "cache_read_input_tokens": read_back,
        "cache_creation_input_tokens": short + long,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
        "output_tokens": output,
        "output_tokens_details": {"thinking_tokens": data.draw(within(output))},
    }
    read = read_usage("anthropic_messages", usage).usage
    assert sums(read) == (plain + read_back + short + long, output)
    assert read.get("cache_write_1h_tokens", 0) == long


@settings(deadline=None)
@given(data=st.data())
def test_of_generated_content_no_token_is_lost_or_counted_twice(data):
    kinds = ["TEXT", "AUDIO", "IMAGE", "VIDEO", "DOCUMENT"]
    prompt = {kind: data.draw(counts) for kind in kinds}
    cached = {kind: data.draw(within(prompt[kind])) for kind in kinds}
    output = {kind: data.draw(counts) for kind in ("TEXT", "IMAGE", "AUDIO")}
    thoughts, tools = data.draw(counts), data.draw(counts)
    usage = {
        "promptTokenCount": sum(prompt.values()),
        "cachedContentTokenCount": sum(cached.values()),
        "candidatesTokenCount": sum(output.values()),
        "thoughtsTokenCount": thoughts,
        "toolUsePromptTokenCount": tools,
        "promptTokensDetails": _listed(prompt),
        "cacheTokensDetails": _listed(cached),
        "candidatesTokensDetails": _listed(output),
        "toolUsePromptTokensDetails": _listed({"TEXT": tools}),
        "totalTokenCount": sum(prompt.values()) + sum(output.values()) + thoughts + tools,
    }
    read = read_usage("google_generate_content", usage).usage
    assert sums(read) == (sum(prompt.values()) + tools, sum(output.values()) + thoughts)
    assert read.get("cached_input_audio_tokens", 0) == cached["AUDIO"]


def _listed(counted: dict[str, int]) -> list[dict[str, Any]]:
    return [{"modality": kind, "tokenCount": count} for kind, count in counted.items()]


@settings(deadline=None)
@given(data=st.data())
def test_of_a_conversation_no_token_is_lost_or_counted_twice(data):
    plain, cached, short, long, output = (data.draw(counts) for _ in range(5))
    usage = {
        "inputTokens": plain,
        "outputTokens": output,
        "cacheReadInputTokens": cached,
        "cacheWriteInputTokens": short + long,
        "cacheDetails": [{"ttl": "5m", "inputTokens": short}, {"ttl": "1h", "inputTokens": long}],
    }
    read = read_usage("bedrock_converse", usage).usage
    assert sums(read) == (plain + cached + short + long, output)


@settings(deadline=None)
@given(data=st.data(), api=st.sampled_from(APIS_BY_NAME))
def test_an_object_of_unknown_names_is_never_free(data, api):
    keys = st.text(min_size=1, max_size=8)
    usage = data.draw(st.dictionaries(keys, st.integers(0, 99), max_size=4))
    assume(not {name for path in APIS[api].fields.counts for name in path} & usage.keys())
    with pytest.raises(UsageUnrecognisedError):
        read_usage(api, usage)
