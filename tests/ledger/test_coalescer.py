"""Calls that come together travel together: who goes when, and who suffers for whom."""

import asyncio
from collections.abc import Sequence
from itertools import chain

import pytest

from service.ledger.coalescer import Coalescer, Passenger
from service.ledger.errors import LedgerFault, StoreUnavailable
from service.ledger.outcome import Outcome


class Store:
    """Answers batches when it is told to, and keeps what it was sent."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.poison: str | None = None
        self.rests = 0

    async def fly(self, name: str, batch: Sequence[Passenger], deadline: float) -> list[bytes]:
        self.batches.append([p.item for p in batch])
        await self.open.wait()
        if self.poison in self.batches[-1]:
            raise LedgerFault("22000")
        return [p.item.encode() for p in batch]

    def read(self, batch: Sequence[Passenger], brought: Sequence[bytes]) -> list[Outcome]:
        return [Outcome(200, {}, body) for body in brought]

    async def rest(self) -> None:
        self.rests += 1


def passenger(item: str, name: str = "reserve", seconds: float = 10) -> Passenger:
    deadline = asyncio.get_running_loop().time() + seconds
    answer = asyncio.get_running_loop().create_future()
    return Passenger(name, item, None, None, None, deadline, answer)


def sent_together(
    lane: Coalescer, passengers: Sequence[Passenger], root: str
) -> list[asyncio.Future[Outcome]]:
    lane.send(passengers, root)
    return [p.answer for p in passengers]


def sent(lane: Coalescer, *items: str, **more: object) -> list[asyncio.Task[Outcome]]:
    return [sent_together(lane, [passenger(i, **more)], "root")[0] for i in items]


async def boarded(store: Store, count: int = 1) -> None:
    while len(store.batches) < count:
        await asyncio.sleep(0)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def lane(store: Store) -> Coalescer:
    return Coalescer([store])


async def test_a_call_that_finds_the_lane_idle_goes_at_once_and_alone(store, lane):
    assert (await sent(lane, "a")[0]).body == b"a"
    assert store.batches == [["a"]]


async def test_calls_that_come_while_one_is_under_way_go_together_next(store, lane):
    store.open.clear()
    tasks = sent(lane, "a")
    await boarded(store)
    tasks += sent(lane, "b", "c", "d")
    await asyncio.sleep(0)
    store.open.set()
    assert [o.body for o in await asyncio.gather(*tasks)] == [b"a", b"b", b"c", b"d"]
    assert store.batches[0] == ["a"]
    assert list(chain.from_iterable(store.batches[1:])) == ["b", "c", "d"]
    assert len(store.batches) < 4


async def test_calls_of_different_names_never_share_a_batch_and_none_starves(store, lane):
    tasks = sent(lane, "r1", "r2") + sent(lane, "s1", "s2", name="settle") + sent(lane, "r3")
    await asyncio.gather(*tasks)
    assert all(len({item[0] for item in batch}) == 1 for batch in store.batches)


async def test_a_caller_that_goes_away_cancels_nobody(store, lane):
    store.open.clear()
    first, second = sent(lane, "a")[0], sent(lane, "b")[0]
    await boarded(store)
    first.cancel()
    store.open.set()
    assert (await second).body == b"b"


async def test_a_caller_that_goes_away_before_its_batch_left_is_not_sent(store, lane):
    store.open.clear()
    tasks = sent(lane, "a")
    await boarded(store)
    tasks += sent(lane, "b", "c")
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    store.open.set()
    await asyncio.gather(tasks[0], tasks[2])
    assert "b" not in list(chain.from_iterable(store.batches))


async def test_an_item_at_fault_fails_alone_when_its_batch_is_sent_again_one_by_one(store, lane):
    store.open.clear()
    tasks = sent(lane, "a")
    await boarded(store)
    tasks += sent(lane, "b", "bad", "c", "d", "e")
    await asyncio.sleep(0)
    store.poison = "bad"
    store.open.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(a) for a in answers].count(LedgerFault) == 1
    assert isinstance(answers[2], LedgerFault)
    assert [a.body for a in answers if isinstance(a, Outcome)] == [b"a", b"b", b"c", b"d", b"e"]


async def test_a_store_that_is_down_is_told_to_every_caller_of_the_batch():
    class Down(Store):
        async def fly(self, name: str, batch: Sequence[Passenger], deadline: float) -> list[bytes]:
            raise StoreUnavailable("unreachable")

    lane = Coalescer([Down()])
    answers = await asyncio.gather(*sent(lane, "a", "b", "c"), return_exceptions=True)
    assert {type(a) for a in answers} == {StoreUnavailable}


async def test_a_call_that_has_waited_too_long_is_refused_and_never_sent(store, lane):
    store.open.clear()
    tasks = sent(lane, "a")
    await boarded(store)
    late = sent(lane, "late", seconds=0)
    await asyncio.sleep(0.01)
    store.open.set()
    await asyncio.gather(*tasks)
    with pytest.raises(StoreUnavailable):
        await late[0]
    assert "late" not in list(chain.from_iterable(store.batches))


async def test_each_call_gives_up_at_its_own_time_and_says_whether_it_was_under_way(store, lane):
    store.open.clear()
    clock = asyncio.get_running_loop().time
    started = clock()
    ends: dict[str, float] = {}
    tasks = []
    for number, item in enumerate("abcd", 1):
        tasks += sent(lane, item, seconds=number * 0.05)
        tasks[-1].add_done_callback(lambda _, item=item: ends.setdefault(item, clock() - started))
        await boarded(store)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [error.cause for error in answers] == ["timeout", "busy", "busy", "busy"]
    for number, item in enumerate("abcd", 1):
        assert number * 0.05 <= ends[item] + 0.002 < number * 0.05 + 0.05
    store.open.set()
    assert (await sent(lane, "e")[0]).body == b"e"


async def test_a_lane_sets_one_timer_however_many_calls_it_carries(store, lane, monkeypatch):
    loop = asyncio.get_running_loop()
    timers = []
    call_at = loop.call_at
    monkeypatch.setattr(loop, "call_at", lambda *a, **k: timers.append(a) or call_at(*a, **k))
    for _ in range(3):
        await asyncio.gather(*sent(lane, *(str(n) for n in range(100))))
    assert len(timers) == 1


async def test_a_call_with_less_time_than_those_before_it_is_answered_by_its_own(store, lane):
    store.open.clear()
    sent(lane, "a")
    await boarded(store)
    late = sent(lane, "b", name="settle", seconds=0.02)
    with pytest.raises(StoreUnavailable, match="busy"):
        await asyncio.wait_for(late[0], 1)
    store.open.set()


async def test_a_call_gives_up_in_time_after_its_lane_was_idle_for_longer(store, lane):
    await sent(lane, "a", seconds=0.02)[0]
    await asyncio.sleep(0.05)
    store.open.clear()
    with pytest.raises(StoreUnavailable, match="timeout"):
        await asyncio.wait_for(sent(lane, "b", seconds=0.02)[0], 1)
    store.open.set()


async def test_draining_waits_for_every_call_that_was_sent(store, lane):
    store.open.clear()
    tasks = sent(lane, "a", "b", "c")
    await boarded(store)
    draining = asyncio.ensure_future(lane.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    store.open.set()
    await draining
    assert all(task.done() for task in tasks)


async def test_no_more_than_512_calls_go_at_once(store, lane):
    store.open.clear()
    tasks = sent(lane, "first")
    await boarded(store)
    tasks += sent(lane, *(str(n) for n in range(2000)))
    await asyncio.sleep(0)
    store.open.set()
    await asyncio.gather(*tasks)
    assert max(map(len, store.batches)) == 512


async def test_calls_of_one_root_share_a_lane_and_two_roots_need_not(store):
    lanes = Coalescer([store] * 8)
    store.open.clear()
    roots = [f"root{n}" for n in range(8)]
    tasks = [sent_together(lanes, [passenger(r)], r)[0] for r in roots for _ in range(4)]
    await asyncio.sleep(0.01)
    under_way = [set(batch) for batch in store.batches]
    assert len(under_way) > 1
    assert sum(map(len, under_way)) == len(set().union(*under_way))
    store.open.set()
    await asyncio.gather(*tasks)


async def test_calls_that_are_sent_together_go_on_one_lane_in_their_order(store):
    lanes = Coalescer([store] * 8)
    items = [str(n) for n in range(40)]
    answers = sent_together(lanes, [passenger(i) for i in items], "root")
    assert [o.body.decode() for o in await asyncio.gather(*answers)] == items
    assert list(chain.from_iterable(store.batches)) == items


async def test_a_passenger_carries_all_that_its_caller_said():
    said = ("reserve", "{}", "key_1", "org", "ann", 7.0, asyncio.Future())
    p = Passenger(*said)
    told = (p.name, p.item, p.actor, p.within, p.account_id, p.deadline, p.answer)
    assert told == said


async def test_the_next_batch_leaves_before_the_last_one_is_read(store, lane):
    order: list[str] = []
    fly, read = store.fly, store.read

    async def noted(name: str, batch: Sequence[Passenger], deadline: float) -> list[bytes]:
        order.append("left")
        return await fly(name, batch, deadline)

    def noted_too(batch: Sequence[Passenger], brought: Sequence[bytes]) -> list[Outcome]:
        order.append("read")
        return read(batch, brought)

    store.fly, store.read = noted, noted_too
    store.open.clear()
    tasks = sent(lane, "a")
    await boarded(store)
    tasks += sent(lane, "b")
    store.open.set()
    await asyncio.gather(*tasks)
    assert order == ["left", "left", "read", "read"]


async def test_what_cannot_be_read_is_told_to_every_caller_of_the_batch(store, lane):
    def unreadable(*_: object) -> list[Outcome]:
        raise ValueError("no such answer")

    store.read = unreadable
    answers = await asyncio.gather(*sent(lane, "a", "b"), return_exceptions=True)
    assert {type(a) for a in answers} == {ValueError}
    del store.read
    assert (await sent(lane, "c")[0]).body == b"c"


async def test_a_lane_keeps_nothing_once_nobody_waits(store, lane):
    store.open.clear()
    tasks = sent(lane, "a")
    await boarded(store)
    tasks += sent(lane, "b", "c")
    store.open.set()
    await asyncio.gather(*tasks)
    await lane.drain()
    assert (len(store.batches), store.rests) == (2, 1)


async def test_a_call_that_comes_while_its_lane_comes_to_rest_is_made(store, lane):
    rest, comes = store.rest, asyncio.Event()

    async def slow() -> None:
        await rest()
        await comes.wait()

    store.rest = slow
    await sent(lane, "a")[0]
    await asyncio.sleep(0)
    late = sent(lane, "b")[0]
    comes.set()
    assert (await late).body == b"b"
