"""Many clients on one rolling window, by the real clock, while its slices age out."""

import time

from tests.support.money import rolling, tokens

LIMIT = 40


async def test_no_trailing_second_ever_has_more_than_the_limit(ledger):
    """``verify()``, at the end of every test, holds each trailing second against the limit."""
    await ledger.grant("org", LIMIT, window=rolling(1, 20))
    for n in range(8):
        await ledger.put_account(f"team-{n}", parent_id="org")
    end = time.monotonic() + 4
    replies = []

    async def spend(session, n):
        number = 0
        while time.monotonic() < end:
            number += 1
            name, team = f"r{n}-{number}", f"team-{n % 8}"
            if number % 2:
                reply = await session.charge(name, team, tokens(3))
            else:
                reply = await session.reserve(name, team, tokens(5))
                if reply["decision"] == "authorized":
                    await session.settle(name, tokens(4))
            replies.append(reply)

    await ledger.race([lambda session, n=n: spend(session, n) for n in range(16)], 16)
    decisions = {reply["decision"] for reply in replies}
    assert decisions == {"authorized", "denied"}
    spent = await ledger.connection.fetchval(
        "select sum(settled_amount) from preauth.hold_line where state = 'settled'"
    )
    assert spent > 2 * LIMIT
    peak = await ledger.connection.fetchval("select max(amount) from preauth._rolling_peaks()")
    assert LIMIT * 0.5 < peak <= LIMIT
    assert await ledger.count("window_slice") <= 21
