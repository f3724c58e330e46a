"""Batches by max_usage: what one look-up prices, and what makes it look again."""

import pytest

from tests.support.checks import code_of
from tests.support.money import DOLLAR
from tests.support.prices import MODEL, publish, rates

THIRD = {"micro_usd": 1, "per": 3000}
"""A third of a nano-dollar each."""


def item(number, max_usage, model=MODEL):
    return {
        "request_id": f"r{number}",
        "account_id": "ann",
        "model": model,
        "max_usage": max_usage,
    }


async def held(ledger, items):
    rows = await ledger.many("reserve", items)
    return [
        row.body["lines"][0]["amount"] if row.status == 200 else code_of(row.body) for row in rows
    ]


@pytest.mark.parametrize("prompt", ["prompt_tokens", "input_tokens"])
@pytest.mark.parametrize("completion", ["completion_tokens", "output_tokens"])
async def test_a_pair_of_bounds_is_rounded_up_once(ledger, clock, prompt, completion):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger, rates={"input_tokens": THIRD, "output_tokens": THIRD})
    counts = [(1, 1), (1, 2), (0, 0), (4, 4)]
    asked = [item(n, {prompt: p, completion: c}) for n, (p, c) in enumerate(counts)]
    assert await held(ledger, asked) == [1, 1, 0, 3]


async def test_bounds_of_any_shape_follow_each_other_in_a_batch(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(
        ledger, rates=rates(input_tokens="1", cached_input_tokens="2", output_tokens="10")
    )
    shapes = [
        ({"prompt_tokens": 1, "completion_tokens": 1}, 12_000),
        ({"input_tokens": 1, "output_tokens": 1}, 11_000),
        ({"input_tokens": 1, "completion_tokens": 1, "cached_input_tokens": 1}, 13_000),
        ({"prompt_tokens": 1, "output_tokens": 2}, 22_000),
        ({"prompt_tokens": 1}, "dimension_unbounded"),
        ({"prompt_tokens": 1, "completion_tokens": 1, "web_searches": 0}, 12_000),
        ({"prompt_tokens": 1, "completion_tokens": 1, "web_searches": 1}, "dimension_unpriced"),
        ({"prompt_tokens": 2, "completion_tokens": 1}, 14_000),
    ]
    asked = [item(n, max_usage) for n, (max_usage, _) in enumerate(shapes)]
    assert await held(ledger, asked) == [figure for _, figure in shapes]


async def test_each_item_of_a_batch_is_priced_by_its_own_model(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger, "one", rates=rates(input_tokens="1", output_tokens="1"), aliases=["uno"])
    await publish(ledger, "two", rates=rates(input_tokens="2", output_tokens="2"))
    await publish(
        ledger, "searcher", rates={**rates(input_tokens="1", output_tokens="1"), "requests": THIRD}
    )
    pair = {"input_tokens": 1, "output_tokens": 1}
    models = ["uno", "two", "one", "none", "one", "searcher", "two", "uno"]
    asked = [item(n, pair, model) for n, model in enumerate(models)]
    figures = {"one": 2000, "uno": 2000, "two": 4000, "searcher": 2001, "none": "price_missing"}
    assert await held(ledger, asked) == [figures[model] for model in models]


async def test_an_alias_that_turned_is_priced_by_what_it_stands_for_now(ledger, clock):
    await ledger.grant("ann", DOLLAR, unit="usd_nano")
    await publish(ledger, "one", rates=rates(input_tokens="1", output_tokens="1"), aliases=["uno"])
    clock.advance(seconds=1)
    await publish(ledger, "two", rates=rates(input_tokens="2", output_tokens="2"), aliases=["uno"])
    pair = {"input_tokens": 1, "output_tokens": 1}
    assert await held(ledger, [item(1, pair, "uno"), item(2, pair, "one")]) == [4000, 2000]
