"""Malformed settlements name the field and write nothing."""

import json
import random

from tests.support.malformed import BAD_AMOUNTS, BAD_IDS, broken
from tests.support.money import tokens

GOOD = {"request_id": "r1", "account_id": "ann", "amounts": {"tokens": 1}}

CASES = {
    **broken("request_id", BAD_IDS),
    **broken("account_id", {k: v for k, v in BAD_IDS.items() if v is not None}),
    **broken("amounts", {**BAD_AMOUNTS, "null": None}),
    **broken("outcome", {"another word": "done", "a number": 1, "capitals": "Completed"}),
    **broken("provider_request_id", {"empty": "", "257": "p" * 257, "a number": 7, "tab": "a\tb"}),
    **broken("reason", {"a member of another call": "x"}),
    **broken("replayed", {"an unknown member": True, "one that is null": None}),
}


async def test_every_malformed_member_is_a_400_that_names_it_and_writes_nothing(ledger, clock):
    await ledger.grant("ann")
    await ledger.reserve("r1", "ann", tokens(400))
    before = await ledger.contents()
    wrong = []
    for why, (member, value) in CASES.items():
        row = await ledger.one("settle", **{**GOOD, member: value})
        named = [e["path"] for e in row.body.get("errors", [])]
        if row.status != 400 or not any(member in path for path in named):
            wrong.append((why, row.status, row.body))
    assert wrong == []
    assert await ledger.contents() == before


AMOUNTS = {
    "tokens": [0, 7, 2**53 - 1, 2**53, -1, 7.0, 7.5, "7", True, None, [7], {}, 10**30],
    "requests": [1, 2],
    "usd_nano": [5, None],
    "credits": [5, 1.5],
    "tries": [3, -3],
    "Tokens": [7],
}
MEMBERS = {
    "request_id": ["r1", "r", "a" * 128, "a/b:c@d.e_f-g", *BAD_IDS.values()],
    "account_id": ["ann", "ann", *BAD_IDS.values()],
    "provider_request_id": [None, None, "p-1", "", 7],
    "outcome": [None, None, "completed", "interrupted", "unknown", "done"],
    "usage": [None, None, {"input_tokens": 3}, {}, 7],
    "dry_run": [None, True],
    "reason": [None, "x"],
}
LOOKED_AT = """
select a.errors, a.body, preauth._shape_errors('settle', i.item) as faults,
  case jsonb_typeof(i.item) when 'object' then jsonb_strip_nulls(i.item - array['request_id', 'account_id', 'dry_run']) end as members
from jsonb_array_elements($1::jsonb) as i (item)
cross join lateral unnest(preauth._asks('settle', jsonb_build_array(i.item), array['x'], null)) as a
"""


def drawn(dice):
    """A settlement that is mostly well-formed."""
    item = dict(GOOD, amounts={})
    for unit, values in AMOUNTS.items():
        if dice.random() < (0.7 if unit == "tokens" else 0.2):
            item["amounts"][unit] = dice.choice(values if dice.random() < 0.4 else values[:2])
    for member, values in MEMBERS.items():
        if dice.random() < 0.2:
            item[member] = dice.choice(values)
    if dice.random() < 0.1:
        item["amounts"] = dice.choice(list(BAD_AMOUNTS.values()))
    if dice.random() < 0.1:
        del item[dice.choice(list(GOOD))]
    return item


async def test_what_is_taken_at_a_glance_is_what_a_proper_look_takes(ledger):
    dice = random.Random(7)
    items = [*(drawn(dice) for _ in range(1500)), 7, None, [], {}, "x"]
    for item, row in zip(items, await ledger.connection.fetch(LOOKED_AT, items), strict=True):
        assert row["errors"] == row["faults"], item
        assert row["errors"] is not None or row["body"] == row["members"], json.dumps(item)
