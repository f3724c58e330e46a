"""Which prices were used, however often they have changed since."""

from datetime import timedelta

from tests.support.checks import assert_problem
from tests.support.clock import NOON
from tests.support.prices import publish, rates


async def test_each_version_has_what_it_priced(ledger, clock):
    await ledger.grant("ann", 10**12, unit="usd_nano")
    period = {"since": NOON, "until": NOON + timedelta(days=1)}
    for version, price in enumerate(("1", "2")):
        await publish(ledger, "gpt", rates=rates(input_tokens=price, output_tokens=price))
        for n in range(version + 1):
            request_id = f"r{version}{n}"
            usage = {"input_tokens": 1000, "output_tokens": 10}
            reply = await ledger.call(
                "reserve", request_id=request_id, account_id="ann", model="gpt", max_usage=usage
            )
            assert reply["decision"] == "authorized", reply
            await ledger.call("settle", request_id=request_id, usage=usage)
        clock.advance(hours=1)

    found = (await ledger.call("audit_prices", **period))["items"]

    assert [(row["name"], row["reservations"], row["settled"]) for row in found] == [
        ("gpt", 1, 1_010_000),
        ("gpt", 2, 4_040_000),
    ]
    assert (await ledger.call("audit_prices", **period, account_id="bob"))["items"] == []
    (first, *_) = (await ledger.call("audit_timeline", request_id="r00"))["items"]
    assert first["detail"]["price_table_ids"] == [found[0]["price_table_id"]]
    assert_problem(await ledger.call("audit_prices"), 400, "malformed")
