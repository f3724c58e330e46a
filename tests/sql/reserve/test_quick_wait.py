"""When a denial fits is told without a query where that can be: it must be what the query says."""

import random

NEVER = "'infinity'"
CASES = 1500
ASKED = """
select preauth._fits_at(places, wanted, slots, reserved, lapses, at),
  preauth._turns_to_fit(places, wanted, slots, reserved, lapses, at)
from (select {places}::integer[], {wanted}::bigint[], array[{slots}]::preauth._slot[],
  {reserved}::bigint[], array[{lapses}]::preauth._lapse[], '2026-09-14T12:00:00Z'::timestamptz
) as x (places, wanted, slots, reserved, lapses, at)
"""


def after(seconds):
    return f"timestamptz '2026-09-14T12:00:00Z' + interval '{seconds} seconds'"


def some_slot(rng):
    """Small figures, so that much is just enough or just too little."""
    capacity = rng.randint(0, 9)
    following = rng.choice([capacity, rng.randint(0, 9)])
    ends_at = rng.choice([NEVER, after(rng.randint(1, 6))])
    trails = rng.choice(["null", "null", "null", "interval '1 minute'"])
    settled = rng.randint(-3, 9)
    return (
        f"row(null, null, null, null, null, {capacity}, {capacity}, {following},"
        f" {settled}, null, {ends_at if trails == 'null' else NEVER}, null, {trails})"
    )


def some_lapses(rng, place):
    """In the order of time, from before now on; what they free adds up."""
    freed, found = 0, []
    for second in sorted(rng.sample(range(-2, 9), rng.randint(0, 4))):
        freed += rng.randint(0, 4)
        found.append([place, after(second), freed, "false"])
    if found and rng.random() < 0.2:
        found[-1][3] = "true"
    return [f"row({', '.join(map(str, lapse))})" for lapse in found]


def some_case(rng):
    count = rng.randint(1, 3)
    asked = [rng.choice([place, place, place, "null"]) for place in range(1, count + 1)]
    lapses = [row for place in range(1, count + 1) for row in some_lapses(rng, place)]
    return ASKED.format(
        places=f"array[{', '.join(map(str, asked))}]",
        wanted=f"array[{', '.join(str(rng.choice(['null', *range(10)])) for _ in asked)}]",
        slots=", ".join(some_slot(rng) for _ in asked),
        reserved=f"array[{', '.join(str(rng.randint(0, 5)) for _ in asked)}]",
        lapses=", ".join(lapses),
    )


async def test_what_needs_no_query_says_what_the_query_says(ledger):
    rng = random.Random(11)
    told = set()
    for _ in range(CASES):
        case = some_case(rng)
        quick, thorough = await ledger.connection.fetchrow(case)
        assert quick == thorough, case
        told.add(quick)
    assert len(told) > 5  # never, at once, and several instants
