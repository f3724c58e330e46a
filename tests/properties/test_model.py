"""Property: a naive model in plain Python agrees with the ledger on every decision and figure.

``PREAUTH_TEST_SEQUENCES`` says how many sequences are drawn: a few hundred unless set, 10000 for
a nightly run, which also draws other ones each time.
"""

import os
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.properties.model import Account, Budget, Denied, Model, Window
from tests.properties.sequences import FAMILIES, OPERATIONS, STARTS, accounts
from tests.properties.system import System
from tests.support.checks import at as instant_of
from tests.support.checks import code_of

pytestmark = pytest.mark.slow

NIGHTLY = "PREAUTH_TEST_SEQUENCES" in os.environ
SEQUENCES = int(os.environ.get("PREAUTH_TEST_SEQUENCES", "240"))
MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def system(database_url, clock):
    system = System(database_url, clock)
    yield system
    system.close()


class Story:
    """One sequence, told to the model and to the ledger alike."""

    def __init__(self, system: System, start: datetime, people: list[Account]) -> None:
        self.system, self.now = system, start
        self.model = Model(people)
        self.denied: tuple[Account, int, Denied] | None = None
        self.requests: list[str] = []
        system.clear()
        system.move_to(start)
        for account in people:
            system.put_account(account)
            for budget in account.budgets:
                system.put_budget(account, budget)

    def take(self, operation: tuple[Any, ...]) -> None:
        name, *arguments = operation
        getattr(self, name)(*arguments)
        self.compare_figures()

    def _account(self, pick: int) -> Account:
        """Mostly the person, sometimes the organisation itself."""
        return self.model.accounts[0 if pick % 5 == 0 else 1]

    def _budget(self, pick: int) -> tuple[Account, Budget]:
        every = [(a, b) for a in self.model.accounts for b in a.budgets]
        return every[pick % len(every)]

    def leap(self, by: timedelta) -> None:
        self.now += by
        self.system.move_to(self.now)

    def turn(self, pick: int, nudge: timedelta) -> None:
        """To an instant at which something changes by itself, or right beside it."""
        turns = sorted({
            turn
            for account in self.model.accounts
            for budget in account.budgets
            if (window := budget.current(self.now))
            for turn in budget.turns(window)
            if turn + nudge > self.now
        })  # fmt: skip
        if turns:
            self.leap(turns[pick % min(len(turns), 8)] + nudge - self.now)

    def reserve(self, pick: int, amount: int, ttl: int | None) -> None:
        self._decide(self._account(pick), amount, ttl)

    def charge(self, pick: int, amount: int) -> None:
        self._decide(self._account(pick), amount, None)

    def _decide(self, account: Account, amount: int, ttl: int | None) -> str:
        expected = self.model.decide(account, amount, self.now, ttl)
        denied = isinstance(expected, Denied)
        reply = self.system.decide(-1 if denied else len(self.requests), account, amount, ttl)
        if isinstance(expected, Denied):
            self._assert_denied(account, reply, expected)
            self.denied = (account, amount, expected)
            return "denied"
        assert reply.get("decision") == "authorized", (reply, self.now)
        self.requests.append(reply["request_id"])
        assert [line["amount"] for line in reply["lines"]] == [n.held for n in expected.lines]
        return "authorized"

    def _assert_denied(self, account: Account, reply: dict[str, Any], expected: Denied) -> None:
        assert reply.get("decision") == "denied", (reply, expected)
        named = ("reason", "scope", "budget", "required", "retry_after_ms", "limit")
        assert {name: reply[name] for name in named} == {
            "reason": expected.reason,
            "scope": expected.account.name,
            "budget": expected.budget.name,
            "required": expected.required,
            "retry_after_ms": expected.retry_after_ms,
            "limit": expected.window.limit,
        }
        own = expected.account is account
        assert reply.get("available") == (expected.available if own else None), (reply, expected)
        assert _instant(reply["resets_at"]) == expected.window.ends_at
        assert reply["status"] == (402 if expected.retry_after_ms is None else 429)

    def retry(self) -> None:
        """A denial's retry: denied 1 ms before the announced instant, authorized at it."""
        if self.denied is None or self.denied[2].retry_after_ms is None:
            return
        account, amount, _ = self.denied
        if self._decide(account, amount, 60) == "denied":
            wait = self.denied[2].retry_after_ms
            if wait is not None:
                self.leap(wait * MILLISECOND - MILLISECOND)
                assert self._decide(account, amount, 60) == "denied"
                self.leap(MILLISECOND)
                assert self._decide(account, amount, 60) == "authorized"
        self.denied = None

    def settle(self, pick: int, amount: int) -> None:
        if self.requests:
            n = pick % len(self.requests)
            expected = self.model.settle(self.model.reservations[n], amount, self.now)
            self._assert_outcome(self.system.settle(self.requests[n], amount), expected)

    def release(self, pick: int) -> None:
        if self.requests:
            n = pick % len(self.requests)
            expected = self.model.release(self.model.reservations[n], self.now)
            self._assert_outcome(self.system.release(self.requests[n]), expected)

    def _assert_outcome(self, reply: dict[str, Any], expected: str) -> None:
        if "status" in reply:
            assert code_of(reply) == expected, reply
        else:
            assert expected == ("replayed" if reply["replayed"] else reply["state"]), reply

    def sweep(self) -> None:
        assert self.system.sweep() == self.model.sweep(self.now)

    def limit(self, pick: int, limit: int | None, apply: str) -> None:
        account, budget = self._budget(pick)
        self.model.change_limit(budget, limit, apply, self.now)
        self.system.put_budget(account, budget, apply)

    def adjust(self, pick: int, amount: int) -> None:
        account, budget = self._budget(pick)
        window = budget.current(self.now)
        if window and amount:
            self.model.adjust(budget, window, amount, self.now)
            self.system.adjust(account, budget, amount)

    def zone(self, pick: int, zone: str) -> None:
        account = self.model.accounts[pick % 2]
        account.zone = zone
        self.system.put_account(account)

    def anchor(self, pick: int, anchor: Any) -> None:
        account = self.model.accounts[pick % 2]
        account.anchor = anchor
        self.system.put_account(account)

    def compare_figures(self) -> None:
        person = self.model.accounts[-1]
        found = self.system.balance(person)
        assert found.keys() == {(a.name, b.name) for a in person.path() for b in a.budgets}
        for account in person.path():
            for budget in account.budgets:
                self._compare(account, budget, found[account.name, budget.name])

    def _compare(self, account: Account, budget: Budget, found: dict[str, Any]) -> None:
        window = budget.current(self.now)
        if window is None:
            period = (
                None if budget.policy["kind"] == "fixed" else account.next_period(budget, self.now)
            )
            window = Window(period, budget.limit)
        settled, reserved = budget.settled(window, self.now), window.reserved(self.now)
        assert (found["limit"], found["settled"], found["reserved"], found["available"]) == (
            window.limit,
            settled,
            reserved,
            None if window.limit is None else window.limit - settled - reserved,
        ), (account.name, budget, self.now)
        period = window.period
        assert (_instant(found["starts_at"]), _instant(found["ends_at"])) == (
            (period.starts_at, period.ends_at) if period else (None, None)
        ), (account, budget.policy, self.now)

    def end(self) -> None:
        assert sorted(self.system.outbox()) == sorted(self.model.outbox)
        assert self.system.mismatches() == []


def _instant(text: str | None) -> datetime | None:
    return instant_of(text) if text else None


@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_agrees(system, family):
    @settings(
        max_examples=SEQUENCES // len(FAMILIES),
        deadline=None,
        derandomize=not NIGHTLY,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(STARTS, accounts(FAMILIES[family]), st.lists(OPERATIONS, min_size=12, max_size=40))
    def told_alike(start, people, operations):
        story = Story(system, start, people)
        for operation in operations:
            story.take(operation)
        story.end()

    told_alike()
