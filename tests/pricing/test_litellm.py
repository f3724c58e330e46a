"""LiteLLM's list: each price from its text, or the reason why not."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.pricing.importers.litellm import NotAPriceListError, catalogue
from service.pricing.importers.litellm_fields import TOKENS

CHAT = """"litellm_provider": "openai", "mode": "chat",
  "input_cost_per_token": 2.5e-07, "output_cost_per_token": 2e-06"""


@pytest.fixture
def read(tmp_path: Path):
    """The catalogue of a file with that text."""

    def read(text: str):
        file = tmp_path / "prices.json"
        file.write_text(text, "utf-8")
        return catalogue(file)

    return read


@pytest.fixture
def one(read):
    """The tables of one entry, by name, and what was skipped and left out."""

    def one(fields: str, key: str = "gpt-5-mini"):
        found = read(f'{{"{key}": {{{fields}}}}}')
        return {table.name: table for table in found.tables}, found

    return one


def usd_per_million(table, dimension, tier=0):
    return table.tiers[tier].rates[dimension].exact


def test_the_text_of_a_price_is_its_price(one):
    tables, found = one(f'{CHAT}, "cache_read_input_token_cost": 2.5E-8')
    table = tables["openai/gpt-5-mini"]
    assert table.tiers[0].rates["input_tokens"] == (250_000, 1_000_000)
    assert usd_per_million(table, "cached_input_tokens") == Fraction(25, 1000)
    assert (found.skipped, found.left_out) == ([], [])
    assert table.source == "LiteLLM prices.json"


def test_no_digit_is_lost_and_none_is_made_up(one):
    tables, _ = one('"input_cost_per_token": 1.23456789e-09', "acme/m")
    assert usd_per_million(tables["acme/m"], "input_tokens") == Fraction(123456789, 10**11)
    tables, _ = one(f'"input_cost_per_token": 0.{"0" * 5}123456789012', "acme/m")
    assert usd_per_million(tables["acme/m"], "input_tokens") == Fraction(123456789012, 10**11)
    tables, found = one('"input_cost_per_token": 0.00000027999999999999997', "acme/m")
    assert tables == {}
    assert "more digits" in found.skipped[0].reason


def test_what_the_list_does_not_say_has_the_price_of_its_whole(one):
    tables, _ = one(CHAT)
    rates = tables["openai/gpt-5-mini"].tiers[0].rates
    assert rates["reasoning_tokens"] == rates["output_tokens"]
    assert rates["cached_input_tokens"] == rates["input_image_tokens"] == rates["input_tokens"]
    assert "cache_write_tokens" not in rates
    assert "output_image_tokens" not in rates


def test_cached_audio_is_never_cheaper_than_the_list_can_mean(one):
    tables, _ = one(
        f'{CHAT}, "cache_read_input_token_cost": 1e-8, "input_cost_per_audio_token": 1e-6'
    )
    rates = tables["openai/gpt-5-mini"].tiers[0].rates
    assert rates["cached_input_audio_tokens"] == rates["input_audio_tokens"]
    assert rates["cached_input_image_tokens"] == rates["cached_input_tokens"]


def test_a_zero_beside_a_price_is_no_price(one):
    tables, _ = one(f'{CHAT}, "cache_read_input_token_cost": 0.0, "output_cost_per_image": 0')
    rates = tables["openai/gpt-5-mini"].tiers[0].rates
    assert rates["cached_input_tokens"] == rates["input_tokens"]
    assert "output_images" not in rates


def test_a_model_that_is_free_is_free(one):
    tables, _ = one('"input_cost_per_token": 0, "output_cost_per_token": 0.0', "ollama/m")
    assert usd_per_million(tables["ollama/m"], "output_tokens") == 0


def test_tiers_are_for_every_token_and_a_rate_without_one_stays(one):
    tables, _ = one(
        f'{CHAT}, "input_cost_per_token_above_200k_tokens": 5e-07,'
        '"cache_read_input_token_cost": 1e-8'
    )
    table = tables["openai/gpt-5-mini"]
    assert [tier.above for tier in table.tiers] == [0, 200_000]
    assert [usd_per_million(table, "input_tokens", n) for n in (0, 1)] == [
        Fraction(1, 4),
        Fraction(1, 2),
    ]
    assert usd_per_million(table, "cached_input_tokens", 1) == Fraction(1, 100)
    assert usd_per_million(table, "output_tokens", 1) == 2


def test_ranges_are_tiers(one):
    tables, found = one(
        '"litellm_provider": "dashscope", "tiered_pricing": ['
        '{"range": [0, 32000.0], "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6},'
        '{"range": [32000.0, 128000], "input_cost_per_token": 3e-6, "output_cost_per_token": 4e-6}]',
        "dashscope/q",
    )
    assert found.skipped == []
    table = tables["dashscope/q"]
    assert [tier.above for tier in table.tiers] == [0, 32_000]
    assert usd_per_million(table, "reasoning_tokens", 1) == 4


@pytest.mark.parametrize(
    "ranges",
    [
        '[{"range": [0, 9], "input_cost_per_token": 1}, {"range": [10], "input_cost_per_token": 1}]',
        '[{"range": [1, 9], "input_cost_per_token": 1}]',
        '[{"range": [0.5, 9], "input_cost_per_token": 1}]',
        '[{"input_cost_per_token": 1}]',
        '[{"range": [0, 9], "cost": 1}]',
        '[{"range": [0, 9], "input_cost_per_token": "1"}]',
        '[{"range": [0, 9], "input_cost_per_token": 1}, {"range": [9], "output_cost_per_token": 1}]',
        "[]",
        "7",
    ],
)
def test_ranges_that_are_not_understood_are_skipped(one, ranges):
    tables, found = one(f'"tiered_pricing": {ranges}', "dashscope/q")
    assert tables == {}
    assert "tiered_pricing" in found.skipped[0].reason


def test_cache_writes_have_two_prices(one):
    tables, found = one(
        f'{CHAT}, "cache_creation_input_token_cost": 3e-7,'
        '"cache_creation_input_token_cost_above_1hr": 5e-7,'
        '"cache_creation_input_token_cost_above_12hr": 9e-7'
    )
    table = tables["openai/gpt-5-mini"]
    assert usd_per_million(table, "cache_write_tokens") == Fraction(3, 10)
    assert usd_per_million(table, "cache_write_1h_tokens") == Fraction(1, 2)
    assert "above_12hr" in found.left_out[0].reason


def test_variants_are_tables_of_their_own_with_all_else_standard(one):
    tables, found = one(
        f'{CHAT}, "input_cost_per_token_batches": 1e-07, "output_cost_per_token_batches": 1e-06,'
        '"input_cost_per_token_flex": 1e-07, "input_cost_per_token_ultrafast": 1e-3,'
        '"search_context_cost_per_query": {"low": 0.01, "medium": 0.01, "high": 0.01}'
    )
    assert set(tables) == {"openai/gpt-5-mini", "openai/gpt-5-mini:batch"}
    batch = tables["openai/gpt-5-mini:batch"]
    assert (batch.model, batch.variant) == ("openai/gpt-5-mini", "batch")
    assert usd_per_million(batch, "reasoning_tokens") == 1
    assert batch.tiers[0].rates["web_searches"] == (10_000, 1)
    assert [(s.name, s.reason) for s in found.skipped] == [
        ("openai/gpt-5-mini:flex", "it has no price for output_tokens in the standard tiers")
    ]
    assert found.left_out[0].reason == "ultrafast is not batch, flex or priority"


def test_a_name_that_ends_in_a_variant_is_that_variant(one):
    tables, _ = one('"input_cost_per_token": 1, "input_cost_per_token_flex": 1', "acme/m:priority")
    assert set(tables) == {"acme/m:priority"}
    assert (tables["acme/m:priority"].model, tables["acme/m:priority"].variant) == (
        "acme/m",
        "priority",
    )


def test_a_variant_without_every_tier_is_skipped(one):
    tables, found = one(
        f'{CHAT}, "input_cost_per_token_above_200k_tokens": 5e-07,'
        '"input_cost_per_token_batches": 1e-07, "output_cost_per_token_batches": 1e-06'
    )
    assert set(tables) == {"openai/gpt-5-mini"}
    assert found.skipped[0].name == "openai/gpt-5-mini:batch"


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ('"input_cost_per_wish": 0.01', "input_cost_per_wish is not understood"),
        ('"output_cost_per_image": 0.04', "it is priced by output_images and by tokens or calls"),
        ('"off_peak_pricing": {"input_cost_per_token": 1e-9}', "its price depends on the time of day"),
        ('"input_cost_per_token_cache_hit": 1e-9, "cache_read_input_token_cost": 2e-9',
         "it has two prices for cached_input_tokens"),
        ('"input_cost_per_audio_token_above_128k_tokens": 9e-7',
         "it has a price for input_audio_tokens above 128000 tokens alone"),
        ('"cache_read_input_token_cost": "1e-9"', "cache_read_input_token_cost is not a number"),
        ('"cache_read_input_token_cost": true', "cache_read_input_token_cost is not a number"),
        ('"cache_read_input_token_cost": -1e-9', "-1E-9 is not a price"),
        ('"search_context_cost_per_query": 0.01', "search_context_cost_per_query is not understood"),
    ],
)  # fmt: skip
def test_a_price_that_is_not_understood_skips_its_model(one, field, reason):
    tables, found = one(f"{CHAT}, {field}")
    assert tables == {}
    assert [s.reason for s in found.skipped] == [reason]


@pytest.mark.parametrize(
    "field",
    [
        '"search_context_cost_per_query": {"low": 0.005, "high": 0.01}',
        '"search_context_cost_per_query": {"low": 0.01}, "search_free_requests": {"count": 9}',
        '"vector_store_cost_per_gb_per_day": 0.1',
    ],
)
def test_a_price_that_no_usage_can_use_is_left_out_and_said(one, field):
    tables, found = one(f"{CHAT}, {field}")
    assert "web_searches" not in tables["openai/gpt-5-mini"].tiers[0].rates
    assert len(found.left_out) == 1


def test_items_have_prices_where_tokens_have_none(one):
    tables, _ = one('"mode": "image_generation", "output_cost_per_image": 0.04', "acme/paint")
    assert tables["acme/paint"].tiers[0].rates == {"output_images": (40_000, 1)}
    tables, _ = one('"mode": "audio_transcription", "input_cost_per_second": 0.0001', "acme/hear")
    assert tables["acme/hear"].tiers[0].rates == {"input_audio_seconds": (100, 1)}


def test_names_begin_with_the_provider_once(read):
    text = {
        "sample_spec": {"litellm_provider": "x", "input_cost_per_token": "0.0"},
        "fallbacks": {"rules": []},
        "gpt-5": {"litellm_provider": "openai", "input_cost_per_token": 1},
        "openai/gpt-5": {"litellm_provider": "openai", "input_cost_per_token": 2},
        "gemini-2.5-pro": {"litellm_provider": "vertex_ai-language-models", "input_cost_per_token": 1},
        "bad name": {"litellm_provider": "acme", "input_cost_per_token": 1},
        "newest": {"alias_of": "gpt-5"},
    }  # fmt: skip
    found = read(json.dumps(text))
    assert [table.name for table in found.tables] == ["openai/gpt-5", "vertex_ai/gemini-2.5-pro"]
    assert found.tables[0].aliases == ("newest",)
    assert {s.name: s.reason for s in found.skipped} == {
        "openai/gpt-5": "the entry gpt-5 has the same name",
        "acme/bad name": "its name has characters, or a length, that a model name can't have",
    }


FIELDS = ["alias_of", "litellm_provider", "mode", "tiered_pricing", "off_peak_pricing",
          "search_context_cost_per_query", "input_cost_per_second", "output_cost_per_image", "range",
          *TOKENS, *(f"{name}_above_200k_tokens" for name in TOKENS), *(f"{n}_flex" for n in TOKENS)]  # fmt: skip

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.dictionaries(
    st.sampled_from(["m", "n", "acme/m", "sample_spec", "m:flex"]),
    st.dictionaries(st.sampled_from(FIELDS), values, max_size=5), max_size=3,
))  # fmt: skip
def test_whatever_an_entry_holds_it_is_taken_or_skipped(read, entries):
    found = read(json.dumps(entries))
    for table in found.tables:
        assert json.loads(json.dumps(table.body()))["model"] == table.model


@pytest.mark.parametrize("text", ["", "[]", "{", '{"m": 7}', '{"m": {}, "m": {}}', "[" * 100_000])
def test_a_file_that_is_not_the_list_is_refused(read, text):
    with pytest.raises(NotAPriceListError):
        read(text)


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    file = tmp_path / "prices.json"
    file.write_bytes(b'{"\xff": {}}')
    with pytest.raises(NotAPriceListError):
        catalogue(file)


HALF = "\\ud800"


@pytest.mark.parametrize(
    "entry",
    [
        f'"acme/m{HALF}": {{{CHAT}}}',
        f'"acme/m": {{{CHAT}, "output_cost_per_{HALF}": 1}}',
        f'"acme/m": {{{CHAT.replace("openai", HALF)}}}',
        f'"acme/m": {{{CHAT}, "tiered_pricing": [{{"{HALF}": 1}}]}}',
        f'"acme/m": {{"alias_of": "{HALF}"}}',
        f'"acme/m{HALF}": 5',
    ],
)
def test_an_entry_whose_text_is_no_unicode_is_named(read, entry):
    with pytest.raises(NotAPriceListError, match=r"^acme/m.* half of a surrogate pair"):
        read(f'{{"sample_spec": {{}}, {entry}}}')


def test_a_deep_entry_is_no_trouble(read):
    found = read(f'{{"m": {{{CHAT}, "more": {"[" * 900}{"]" * 900}}}}}')
    assert [table.name for table in found.tables] == ["openai/m"]


def test_a_character_that_json_writes_as_a_pair_is_one(read):
    found = read(f'{{"m\\ud83d\\ude00": {{{CHAT}}}}}')
    assert [one.name for one in found.skipped] == ["openai/m\U0001f600"]
