"""A price published between reserve and settle changes no settled figure."""

from math import ceil

from tests.support.prices import MODEL, ask, exact, publish, rates

COUNT = 1000
BOUNDS = {"input_tokens": 700, "cached_input_tokens": 11, "output_tokens": 301}


async def test_a_thousand_prices_and_a_thousand_settlements_at_once(ledger):
    await ledger.grant("ann", None, unit="usd_nano")

    async def publication(session, number):
        table = rates(input_tokens=f"{number}.5", cached_input_tokens="0.001", output_tokens=f"{number}.25")  # fmt: skip
        return await publish(session, rates=table)

    async def spending(session, number):
        held = await ask(session, f"r{number}", "ann", BOUNDS)
        return held, await session.settle(f"r{number}", usage=BOUNDS)

    await publication(ledger, 0)
    calls = [
        lambda s, call=call, number=number: call(s, number)
        for number in range(1, COUNT + 1)
        for call in (publication, spending)
    ]
    replies = await ledger.race(calls, connections=12)
    assert {table["replayed"] for table in replies[::2]} == {False}
    tables = {
        table["price_table_id"]: table["rates"]
        for table in await ledger.call("price_tables", model=MODEL)
    }
    total = 0
    for held, settled in replies[1::2]:
        cost = ceil(exact(BOUNDS, tables[held["price_table_id"]]))
        assert settled["price_table_id"] == held["price_table_id"]
        assert settled["amounts"]["usd_nano"] == held["lines"][0]["amount"] == cost
        assert settled["overage"] == {}
        total += cost
    assert (await ledger.window("ann"))["settled"] == total
    assert len({held["price_table_id"] for held, _ in replies[1::2]}) > 10
