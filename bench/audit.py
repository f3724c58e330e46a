"""The audit: what each call takes on ledgers with more and more history."""

import hashlib
import itertools
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from bench.harness.conditions import conditions
from bench.harness.database import Database, database
from bench.harness.measure import say
from bench.harness.options import Options, parse
from bench.harness.report import heading, table
from bench.past import ACCOUNTS, DENIALS, furnish, grow

SMALLEST = 3
LARGEST = 7
VERIFIED = 4
"""Up to this size, ``verify()`` shows that the past was made consistently."""
CALLS = 100
"""Of each in a round, each on a new connection; as many on one as old as the ledger."""
ASKED_MS = 10

Arguments = Callable[[int], tuple[str, list[object]]]
"""The SQL of the n-th call and its values."""


def _account(n: int) -> str:
    return f"a{1 + n * 7919 % ACCOUNTS}"


def _of(call: str, **arguments: Callable[[int], object]) -> Arguments:
    """Each call has other values, so that nothing is found because it was just read."""
    named = ", ".join(f"{name} => %s" for name in arguments)
    text = f"select preauth_api.{call}({named})"
    return lambda n: (text, [value(n) for value in arguments.values()])


def _nth(n: int) -> int:
    return 1 + n % DENIALS


def _past(n: int) -> str:
    """The id of a decision that every size has."""
    digits = hashlib.md5(str(1 + n % 900).encode(), usedforsecurity=False).hexdigest()[:15]
    return str(int(digits, 16))


MEASURED: dict[str, Arguments] = {
    "why-denied, own budget": _of("audit_why_denied", request_id=lambda n: f"own-{_nth(n)}"),
    "why-denied, shared budget": _of("audit_why_denied", request_id=lambda n: f"shared-{_nth(n)}"),
    "timeline": _of("audit_timeline", request_id=lambda n: f"own-{_nth(n)}"),
    "timeline of a settled one": _of("audit_timeline", request_id=_past),
    "an account's last 50 decisions": _of(
        "audit_decisions", account_id=_account, max_count=lambda _: 50
    ),
    "the last 50 decisions": _of("audit_decisions", max_count=lambda _: 50),
    "the oldest 50 stuck holds": _of("audit_stuck", max_count=lambda _: 50),
    "the last 50 exceptions": _of("audit_exceptions", max_count=lambda _: 50),
}
NEEDED = ("why-denied", "timeline", "an account's last 50")


@dataclass
class Subject:
    """A ledger of one size, and the connection that has been there since it was empty."""

    power: int
    database: Database
    old: psycopg.Connection[Any]

    def took(self, call: Arguments, start: int, *, fresh: bool) -> list[float]:
        """Milliseconds of each call."""
        return [self._once(call(start + n), fresh=fresh) for n in range(CALLS)]

    def _once(self, call: tuple[str, list[object]], *, fresh: bool) -> float:
        connection = self.database.connect() if fresh else self.old
        started = time.perf_counter()
        found = connection.execute(*call).fetchone()
        took = time.perf_counter() - started
        if fresh:
            connection.close()
        if found is None or "status" in found[0] or "items" not in found[0]:
            raise SystemExit(f"{call}: {found}")
        return took * 1000


def grown(made: Database, power: int) -> Subject:
    started = time.monotonic()
    new = made.another(f"past_{power}")
    furnish(new)
    old = new.connect()
    for call in MEASURED.values():
        old.execute(*call(0))
    grow(new, 10**power)
    say(f"10^{power} decisions in {time.monotonic() - started:.0f} s")
    if power <= VERIFIED:
        say(new.mismatches())
    return Subject(power, new, old)


def measure(options: Options, largest: int) -> tuple[list[list[str]], str]:
    with database() as made:
        subjects = [grown(made, power) for power in range(SMALLEST, largest + 1)]
        told = conditions(made, options, f"{CALLS} calls of each a round, one client")
        took: dict[tuple[str, bool, int], list[float]] = defaultdict(list)
        for number in range(options.rounds):
            for (name, call), fresh in itertools.product(MEASURED.items(), (True, False)):
                for subject in subjects:
                    found = subject.took(call, number * CALLS, fresh=fresh)
                    took[name, fresh, subject.power].extend(found)
            say(f"round {number + 1}")
        for subject in subjects:
            subject.old.close()
        return [_row(*key, figures) for key, figures in took.items()], told


def _row(name: str, fresh: bool, power: int, took: list[float]) -> list[str]:
    asked = f"< {ASKED_MS}" if name.startswith(NEEDED) else ""
    connection = "fresh" if fresh else "old"
    median, last = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    return [name, connection, f"10^{power}", f"{median:.2f}", f"{last:.2f}", asked]


def main() -> None:
    options, given = parse(
        __doc__, to=(6, f"decisions: 10 to the power of {SMALLEST} to {LARGEST}")
    )
    rows, told = measure(options, min(max(given["to"], SMALLEST), LARGEST))
    heading("The audit", told)
    table(["call", "connection", "decisions", "median ms", "p95 ms", "asked"], rows)


if __name__ == "__main__":
    main()
