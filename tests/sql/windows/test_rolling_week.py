"""A simulated week on a rolling day of 24 slices, in steps of one second."""

import os
import random
from collections import deque
from datetime import timedelta

import pytest

from tests.support.money import rolling, tokens

LIMIT = 1000
DAY = 24 * 3600
WEEK = 7 * DAY
CALLS = 25_000 if "PREAUTH_TEST_SEQUENCES" in os.environ else 2_500
"""Spread over the week's seconds at random; a nightly run makes ten times as many."""


def seconds_with_calls(chance):
    """Bursts and lulls: some hours are busy, some are quiet."""
    busy = [chance.choice([0, 1, 1, 5, 20]) for _ in range(WEEK // 3600)]
    hours = chance.choices(range(len(busy)), busy, k=CALLS)
    return sorted({hour * 3600 + chance.randrange(3600) for hour in hours})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_no_trailing_day_ever_admits_more_than_the_limit(ledger, clock, seed):
    """Spend is charged, or held and settled seconds or hours later, or given back."""
    chance = random.Random(seed)
    await ledger.grant("ann", LIMIT, window=rolling(DAY, 24))
    start = clock.now + timedelta(seconds=chance.randrange(3600))
    spent, held, denied = {}, {}, 0
    for second in seconds_with_calls(chance):
        clock.set(start + timedelta(seconds=second))
        amount = chance.choice([1, 7, 30, 120])
        if held and chance.random() < 0.4:
            name = chance.choice(list(held))
            ceiling = held.pop(name)
            if chance.random() < 0.2:
                await ledger.release(name)
            else:
                spent[second] = chance.randint(0, ceiling)
                await ledger.settle(name, tokens(spent[second]))
            continue
        call = chance.choice(["reserve", "charge"])
        more = {"ttl_seconds": 86400} if call == "reserve" else {}
        reply = await ledger.call(
            call, request_id=f"r{second}", account_id="ann", amounts=tokens(amount), **more
        )
        if reply["decision"] == "denied":
            denied += 1
            assert sum_of_last_day(spent, second) + sum(held.values()) + 1 <= LIMIT + amount
        elif call == "charge":
            spent[second] = amount
        else:
            held[f"r{second}"] = amount
    assert denied > CALLS // 20
    peak = highest_trailing_sum(spent)
    assert LIMIT * 0.7 < peak <= LIMIT


def sum_of_last_day(spent, second):
    return sum(amount for at, amount in spent.items() if second - DAY <= at)


def highest_trailing_sum(spent):
    """Over every second of the week: what was spent in the 24 hours up to it, both ends included."""
    window, total, highest = deque(), 0, 0
    for second in range(WEEK + DAY):
        if second in spent:
            window.append((second, spent[second]))
            total += spent[second]
        while window and window[0][0] < second - DAY:
            total -= window.popleft()[1]
        highest = max(highest, total)
    return highest


def test_the_highest_trailing_sum_sees_what_lies_a_day_apart():
    assert highest_trailing_sum({0: 5, DAY: 7}) == 12
    assert highest_trailing_sum({0: 5, DAY + 1: 7}) == 7
