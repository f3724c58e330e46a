"""Growth: the same calls on ledgers with more and more history, and with more and more accounts."""

import time
from functools import partial

from bench.harness.conditions import conditions
from bench.harness.database import Database, database
from bench.harness.fill import LARGEST_ID, fill
from bench.harness.measure import Contender, Results, interleave, say
from bench.harness.options import Options, parse
from bench.harness.pgbench import ORDERED_IDS, Script, batch, run
from bench.harness.report import Ratio, heading, measurements, ratios
from bench.harness.seed import AMOUNTS, TTL_SECONDS, seed

ACCOUNTS = 1000
SMALLEST = 3
LARGEST = 7
MOST_ACCOUNTS = 6
VERIFIED = 4
"""Up to this size, ``verify()`` shows that the past was made consistently."""

RANDOM = f"\\set k random(1, {LARGEST_ID})\n"
MANY = (
    "select status, headers, body, root from"
    " preauth_api.reserve_many(replace(:items, '~', {})::jsonb, null, null);"
)
RESERVE = (
    f"select preauth_api.reserve(:k, 'a' || :i::text, :amounts, ttl_seconds => {TTL_SECONDS});"
)


def spread(accounts: int, clients: int) -> Script:
    text = f"{RANDOM}\\set i random(1, {accounts})\n{RESERVE}"
    return Script(text, clients, values={"amounts": AMOUNTS})


HISTORY = {
    "reserve, 8 clients, 1,000 accounts": spread(ACCOUNTS, 8),
    "reserve_many by 64, 8 clients, hot": Script(RANDOM + MANY.format(":k"), 8, 64, batch(64)),
    "the same, ids in the order of time": Script(
        MANY.format("uuidv7()::text"), 8, 64, batch(64, ORDERED_IDS)
    ),
}


ACCOUNTS_NAME = "reserve, 8 clients"


def of_history(databases: dict[int, Database]) -> list[Contender]:
    return [
        Contender(f"{name}, 10^{power} events", partial(run, script, made))
        for name, script in HISTORY.items()
        for power, made in databases.items()
    ]


def of_accounts(made: Database, most: int) -> list[Contender]:
    return [
        Contender(f"{ACCOUNTS_NAME}, 10^{power} accounts", partial(run, spread(10**power, 8), made))
        for power in range(most + 1)
    ]


def wanted(largest: int, most: int) -> list[Ratio]:
    history = [
        Ratio(f"{name}: 10^{largest} events ÷ 10^{SMALLEST}",
              f"{name}, 10^{largest} events", f"{name}, 10^{SMALLEST} events", 0.87, 1.0)
        for name in HISTORY
    ]  # fmt: skip
    name = f"{ACCOUNTS_NAME}, 10^{{}} accounts"
    compared = min(2, most)
    accounts = Ratio(
        f"10^{most} accounts ÷ 10^{compared}", name.format(most), name.format(compared)
    )
    return [*history, accounts]


def grown(made: Database, power: int) -> Database:
    """A database with so many events."""
    started = time.monotonic()
    new = made.another(f"events_{power}")
    seed(new, accounts=ACCOUNTS, users=0)
    fill(new, 10**power, ACCOUNTS)
    say(f"10^{power} events in {time.monotonic() - started:.0f} s")
    if power <= VERIFIED:
        say(new.mismatches())
    return new


def measure(options: Options, largest: int, most: int) -> tuple[Results, str]:
    with database() as made:
        databases = {p: grown(made, p) for p in range(SMALLEST, largest + 1)}
        seed(made, accounts=10**most, users=0)
        told = conditions(
            made, options, "pgbench -M prepared, one thread; random ids but where said"
        )
        results = interleave([*of_history(databases), *of_accounts(made, most)], options)
        return results, f"{told} Of 10^{SMALLEST} events: {databases[SMALLEST].mismatches()}."


def main() -> None:
    options, given = parse(
        __doc__,
        to=(6, f"events: 10 to the power of {SMALLEST} to {LARGEST}"),
        accounts=(5, f"accounts: 10 to the power of 0 to {MOST_ACCOUNTS}"),
    )
    largest = min(max(given["to"], SMALLEST + 1), LARGEST)
    most = min(max(given["accounts"], 0), MOST_ACCOUNTS)
    results, told = measure(options, largest, most)
    heading("Growth", told)
    measurements(results, "calls a second (items of a batch each)")
    ratios(results, wanted(largest, most))


if __name__ == "__main__":
    main()
