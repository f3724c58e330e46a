"""Field reports on corrections: what was settled wrongly is put right, and both stay visible."""

from tests.support.checks import assert_same
from tests.support.money import DOLLAR, MONTH, usd

WRONG = 7616 * DOLLAR // 100


async def test_b16_a_wrong_price_is_given_back_and_both_entries_stay(ledger, clock):
    """B16: entered per token what was per million; $76.16 settled; adjustment -$76.16."""
    await ledger.grant("ann", 100 * DOLLAR, unit="usd_nano", window=MONTH)
    await ledger.reserve("r1", "ann", usd(WRONG))
    settled = await ledger.settle("r1", usd(WRONG))
    rows = await ledger.contents("hold_line", "reservation")
    body = {"budget": "cap", "amount": -WRONG, "reason": "per million", "idempotency_key": "fix"}
    reply = await ledger.call("adjust", account_id="ann", body=body, actor="key_carla")
    assert reply["available"] == 100 * DOLLAR
    assert await ledger.contents("hold_line", "reservation") == rows
    assert_same(settled, await ledger.settle("r1", usd(WRONG)))
    audit = await ledger.connection.fetch(
        "select kind, amounts ->> 'usd_nano', actor, reason from preauth.usage_event order by event_id"
    )
    assert [(kind, amount) for kind, amount, *_ in audit] == [
        ("settlement", str(WRONG)), ("adjustment", str(-WRONG)),
    ]  # fmt: skip
    assert tuple(audit[1])[2:] == ("key_carla", "per million")
