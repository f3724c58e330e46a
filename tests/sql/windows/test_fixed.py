"""Fixed windows begin with the first spend and last so many seconds."""

from datetime import timedelta

from tests.support.checks import at
from tests.support.money import LIFETIME, fixed, tokens
from tests.support.session import Figures


async def test_the_first_spend_opens_the_window(ledger, clock):
    await ledger.grant("ann", window=fixed(3600))
    clock.set("2026-09-14T12:34:56.789Z")
    (line,) = (await ledger.reserve("r1", "ann", tokens(400)))["lines"]
    window = await ledger.window("ann")
    assert at(window["starts_at"]) == clock.now
    assert at(window["ends_at"]) == clock.now + timedelta(seconds=3600)
    assert line["window"] == window["window"]
    assert line["window"].startswith("fixed:2026-09-14T12:34:56")


async def test_spend_within_the_window_adds_up_and_does_not_move_it(ledger, clock):
    await ledger.grant("ann", window=fixed(3600))
    await ledger.charge("c1", "ann", tokens(400))
    ends_at = (await ledger.window("ann"))["ends_at"]
    clock.advance(seconds=3599.999)
    await ledger.charge("c2", "ann", tokens(400))
    assert await ledger.figures("ann") == Figures(800, 0, 200)
    assert (await ledger.window("ann"))["ends_at"] == ends_at


async def test_the_next_window_begins_with_the_next_spend_not_with_the_end(ledger, clock):
    await ledger.grant("ann", window=fixed(3600))
    await ledger.charge("c1", "ann", tokens(1000))
    clock.advance(hours=5)
    await ledger.charge("c2", "ann", tokens(300))
    window = await ledger.window("ann")
    assert at(window["starts_at"]) == clock.now
    assert (window["settled"], window["available"]) == (300, 700)


async def test_at_its_very_end_the_window_is_over(ledger, clock):
    await ledger.grant("ann", window=fixed(60))
    await ledger.charge("c1", "ann", tokens(1000))
    clock.advance(seconds=59, microseconds=999_999)
    assert (await ledger.charge("c2", "ann", tokens(1)))["decision"] == "denied"
    clock.advance(microseconds=1)
    assert (await ledger.charge("c3", "ann", tokens(1000)))["decision"] == "authorized"


async def test_each_account_has_its_own_beginning(ledger, clock):
    await ledger.grant("ann", window=fixed(3600))
    await ledger.grant("bob", window=fixed(3600))
    await ledger.charge("c1", "ann", tokens(1))
    clock.advance(minutes=10)
    await ledger.charge("c1", "bob", tokens(1))
    ann, bob = [at((await ledger.window(a))["starts_at"]) for a in ("ann", "bob")]
    assert bob - ann == timedelta(minutes=10)


async def test_the_longest_and_the_shortest_window_work(ledger, clock):
    for name, seconds in (("long", 31_622_400), ("short", 1)):
        await ledger.grant("ann", name=name, window=fixed(seconds))
    await ledger.charge("c1", "ann", tokens(1))
    for name, seconds in (("long", 31_622_400), ("short", 1)):
        window = await ledger.window("ann", name)
        length = at(window["ends_at"]) - at(window["starts_at"])
        assert length == timedelta(seconds=seconds)


async def test_a_lifetime_window_has_no_ends_and_never_resets(ledger, clock):
    await ledger.grant("ann", window=LIFETIME)
    await ledger.charge("c1", "ann", tokens(400))
    clock.set("2099-01-01T00:00:00Z")
    window = await ledger.window("ann")
    assert window["starts_at"] is window["ends_at"] is window["resets_at"] is None
    assert (window["window"], window["settled"]) == ("lifetime", 400)
