"""Property: whatever is asked, again, late, or twice at once, the naive book and the ledger agree.

``PREAUTH_TEST_SEQUENCES`` as in tests/properties/test_model.py. Where two calls are made at once,
the replies and figures must be those of one after the other, in either order.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.properties.adversary.accounts import Definition, Plan, Spender
from tests.properties.adversary.calls import Adversary, Call
from tests.properties.adversary.changes import World
from tests.properties.adversary.ledger import Facts
from tests.properties.adversary.stories import FAMILIES, UNITS, plans, traits
from tests.support.checks import code_of
from tests.support.clock import Clock

pytestmark = pytest.mark.slow

NIGHTLY = "PREAUTH_TEST_SEQUENCES" in os.environ
SEQUENCES = int(os.environ.get("PREAUTH_TEST_SEQUENCES", "100"))
START = datetime(2014, 3, 5, 22, 30, tzinfo=UTC)
PEOPLE = ("org", "team", "ann")


@pytest.fixture
def adversary(database_url: str, clock: Clock) -> Iterator[Adversary]:
    adversary = Adversary(database_url, clock)
    yield adversary
    adversary.close()


class Story:
    """One sequence, told to the model and to the ledger alike."""

    def __init__(self, system: Adversary, offered: dict[str, Plan], kept: dict[str, Any]) -> None:
        self.system, self.now, self.kept = system, START, kept
        people = [Spender.named(name) for name in PEOPLE]
        self.world = World(people, offered)
        system.clear()
        system.move_to(START)
        system.plans = offered
        for plan in offered.values():
            for definition in plan.budgets:
                definition.limit = 100
            system.make(("put_plan", plan.name, 100, "now"))
        for name, parent in zip(PEOPLE, (None, "org", "team"), strict=True):
            self.once(("move", name, parent))
        self.once(("publish", 1))
        self.once(("switch_plan", "ann", "p", "now"))
        self.once(("put_budget", "org", ("cap", {"kind": "lifetime"}, 150), "now"))

    def take(self, step: tuple[Any, ...]) -> None:
        how, *rest = step
        getattr(self, how)(*rest)
        found = self.system.figures_of(PEOPLE)
        assert found == {n: self.world.figures(n, self.now) for n in PEOPLE}, step

    def _call(self, call: Call) -> Call:
        """With instants for spans, and with the story's traits for a budget."""
        made = [self.now + a if isinstance(a, timedelta) else a for a in call]
        if call[0] == "put_budget":
            name, policy, limit = call[2]
            made[2] = Definition(name, UNITS[name], policy, limit, *self.kept[name])
        return tuple(made)

    def once(self, raw: Call) -> None:
        call = self._call(raw)
        expected = self.world.perform(self.now, *call)
        reply = self.system.make(call)
        assert agrees(reply, expected), (call, reply, expected, self.now)

    def twice(self, raw: Call) -> None:
        self.once(raw)
        self.once(raw)

    def both(self, first: Call, second: Call) -> None:
        calls = [self._call(first), self._call(second)]
        replies = self.system.make_both(*calls)
        found = self.system.figures_of(PEOPLE)
        tried = []
        for order in ((0, 1), (1, 0)):
            world = self.world.copied()
            told = {n: world.perform(self.now, *calls[n]) for n in order}
            tried.append(told)
            same = {name: world.figures(name, self.now) for name in PEOPLE} == found
            if same and all(agrees(replies[n], told[n]) for n in order):
                self.world = world
                return
        raise AssertionError((calls, replies, found, tried, self.now))

    def leap(self, by: timedelta) -> None:
        self.now += by
        self.system.move_to(self.now)
        self.world.leapt(self.now)

    def turn(self, pick: int, nudge: int) -> None:
        """To where something changes by itself, or right beside it."""
        beside = timedelta(microseconds=nudge)
        turns = {at + beside for at in self._turns() if at + beside > self.now}
        if turns:
            self.leap(sorted(turns)[pick % len(turns)] - self.now)

    def _turns(self) -> Iterator[datetime]:
        for entry in self.world.reservations:
            if entry.state == "open" and entry.expires_at:
                yield entry.expires_at
        for name in PEOPLE:
            account = self.world.account(name)
            yield from (until for _, until in account.raises.values())
            if account.scheduled:
                yield account.scheduled[1]

    def end(self) -> None:
        assert self.system.mismatches() == []


def agrees(reply: Any, expected: Facts) -> bool:
    """Whether a reply has all that the model says of it."""
    if "code" in expected:
        return "title" in reply and code_of(reply) == expected["code"]
    if "title" in reply and expected.get("decision") != "denied":
        return False
    return all(alike(reply.get(name), value) for name, value in expected.items())


def alike(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, list) and wanted:
        return len(found) == len(wanted) and all(map(is_line, found, wanted))
    return bool(found == wanted)


def is_line(found: Any, wanted: Facts) -> bool:
    """Whether a line of a decision says what the model says, and no more of ``available``."""
    told = ("available" in found) == ("available" in wanted)
    return told and all(found[name] == wanted[name] for name in wanted)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_book_agrees_whatever_is_asked(adversary, family):
    @settings(
        max_examples=SEQUENCES // len(FAMILIES), deadline=None, derandomize=not NIGHTLY, database=None,
        phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(
        traits().flatmap(lambda t: st.tuples(st.just(t), plans(t))),
        FAMILIES[family],
    )
    def told_alike(offered, steps):
        kept, offers = offered
        story = Story(adversary, offers, kept)
        for step in steps:
            story.take(step)
        story.end()

    told_alike()
