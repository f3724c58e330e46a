"""Malformed settlements name the field and write nothing."""

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
