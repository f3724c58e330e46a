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


async def test_a_denied_request_starts_no_window(ledger, clock):
    await ledger.grant("ann", 100, window=fixed(60))
    assert (await ledger.reserve("r1", "ann", tokens(101)))["decision"] == "denied"
    assert (await ledger.window("ann"))["starts_at"] is None
    clock.advance(seconds=50)
    assert (await ledger.charge("c1", "ann", tokens(100)))["decision"] == "authorized"
    clock.advance(seconds=10)
    assert (await ledger.charge("c2", "ann", tokens(100)))["decision"] == "denied"
    clock.advance(seconds=50)
    assert (await ledger.charge("c3", "ann", tokens(100)))["decision"] == "authorized"


async def test_a_request_that_another_budget_denies_starts_no_window(ledger, clock):
    await ledger.grant("ann", 100, name="short", window=fixed(60))
    await ledger.grant("ann", 10, name="whole", window=LIFETIME)
    assert (await ledger.reserve("r1", "ann", tokens(11)))["decision"] == "denied"
    clock.advance(seconds=50)
    await ledger.charge("c1", "ann", tokens(1))
    assert at((await ledger.window("ann", "short"))["starts_at"]) == clock.now


async def test_of_a_batch_the_one_that_is_authorized_starts_the_window(ledger, clock):
    await ledger.grant("ann", 100, window=fixed(60))
    items = [
        {"request_id": f"r{n}", "account_id": "ann", "amounts": tokens(amount)}
        for n, amount in enumerate((101, 60, 60))
    ]
    replies = await ledger.many("reserve", items)
    assert [r.body["decision"] for r in replies] == ["denied", "authorized", "denied"]
    assert at((await ledger.window("ann"))["starts_at"]) == clock.now
    assert await ledger.figures("ann") == Figures(0, 60, 40)


async def test_first_requests_at_once_share_one_window_whoever_is_denied(ledger):
    await ledger.grant("ann", 100, window=fixed(3600))

    def call(n):
        amount = 101 if n % 2 else 10
        return lambda s: s.reserve(f"r{n}", "ann", tokens(amount))

    replies = await ledger.race([call(n) for n in range(40)], connections=8)
    assert [r["decision"] for r in replies].count("authorized") == 10
    assert await ledger.figures("ann") == Figures(0, 100, 0)
    assert await ledger.count("budget_window") == 1
