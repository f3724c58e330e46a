"""What every loop does: batches while they are full, then a pause; it outlives whatever fails."""

import asyncio
import logging
import time

import pytest
import structlog
from structlog.testing import capture_logs

from service.jobs import loop as loops
from service.jobs.loop import Loop
from service.ledger import LedgerFault, StoreUnavailable
from service.metrics import JOB_FAILURES, STORE_UNAVAILABLE
from tests.support.waits import until

LONG = 3600.0


@pytest.fixture(autouse=True)
def warnings_are_logged():
    """Whatever level another test has set."""
    before = structlog.get_config()
    level = structlog.make_filtering_bound_logger(logging.INFO)
    structlog.configure(**{**before, "wrapper_class": level})
    yield
    structlog.configure(**before)


class Scripted(Loop):
    """Its batches are what it was told, then never full."""

    name = "scripted"

    def __init__(self, interval, *steps):
        super().__init__(interval)
        self.steps = list(steps)
        self.batches = 0
        self.seconds = 0.0

    async def _one_batch(self):
        self.batches += 1
        await asyncio.sleep(self.seconds)
        step = self.steps.pop(0) if self.steps else False
        if isinstance(step, BaseException):
            raise step
        return step


async def run_until(loop, batches):
    async def are_done():
        return loop.batches >= batches

    with capture_logs() as lines:
        async with loop.running():
            await until(are_done, f"{batches} batches")
            await asyncio.sleep(0.05)
    return [{k: v for k, v in line.items() if k != "log_level"} for line in lines]


def unavailable(cause):
    return STORE_UNAVAILABLE.labels(cause)._value.get()


async def test_full_batches_follow_each_other_at_once_and_then_there_is_a_pause():
    loop = Scripted(LONG, True, True, False, True)
    assert await run_until(loop, 3) == []
    assert loop.batches == 3


async def test_after_its_pause_it_looks_again():
    loop = Scripted(0.01)
    await run_until(loop, 4)
    assert loop.steps == []


async def test_a_store_that_is_gone_is_told_once_and_once_when_it_is_back():
    before = unavailable("lost"), unavailable("timeout")
    gone = StoreUnavailable("lost"), StoreUnavailable("timeout")
    lines = await run_until(Scripted(0.01, False, *gone, False, False), 5)
    assert lines == [{"event": "store_lost", "cause": "lost"}, {"event": "store_back"}]
    assert (unavailable("lost"), unavailable("timeout")) == (before[0] + 1, before[1] + 1)


async def test_a_fault_is_told_each_time_and_the_loop_goes_on():
    lines = await run_until(Scripted(0.01, LedgerFault("22000"), LedgerFault(None), False), 3)
    assert lines == [
        {"event": "scripted_failed", "kind": "LedgerFault", "reason": f"ledger fault, SQLSTATE {state}"}
        for state in ("22000", "none")
    ]  # fmt: skip


async def test_it_ends_between_two_batches_however_many_are_due():
    loop = Scripted(LONG, *[True] * 10_000)
    loop.seconds = 0.01
    started = time.monotonic()
    await run_until(loop, 2)
    assert time.monotonic() - started < 1
    assert loop.batches < 100


async def test_it_is_left_to_finish_the_batch_in_flight():
    loop = Scripted(LONG, True)
    loop.seconds = 0.2
    await run_until(loop, 1)
    assert loop.steps == []


async def test_but_not_for_longer_than_a_moment(monkeypatch):
    monkeypatch.setattr(loops, "_STOP_SECONDS", 0.05)
    loop = Scripted(LONG, True)
    loop.seconds = LONG
    started = time.monotonic()
    await run_until(loop, 1)
    assert time.monotonic() - started < 2
    assert loop.steps == [True]


async def test_its_task_has_its_name():
    loop = Scripted(LONG)
    async with loop.running():
        assert "scripted" in {task.get_name() for task in asyncio.all_tasks()}


async def test_a_bug_costs_a_batch_and_not_the_loop():
    loop = Scripted(0.01, ZeroDivisionError("what a caller sent"), False)
    lines = await run_until(loop, 3)
    assert lines == [{"event": "scripted_failed", "kind": "ZeroDivisionError", "reason": None}]


async def test_a_wait_that_somebody_else_cancelled_costs_a_batch_and_not_the_loop():
    """Nobody cancelled the loop: what it waited for was."""
    lines = await run_until(Scripted(0.01, asyncio.CancelledError(), False), 3)
    assert lines == [{"event": "scripted_failed", "kind": "CancelledError", "reason": None}]


async def test_each_failure_is_counted_but_that_of_a_store_that_is_gone():
    before = failures()
    steps = ZeroDivisionError(), LedgerFault("22000"), asyncio.CancelledError()
    await run_until(Scripted(0.01, *steps, StoreUnavailable("lost"), False), 5)
    assert failures() == before + 3


def failures():
    return JOB_FAILURES.labels("scripted")._value.get()


async def test_a_log_that_cannot_be_written_ends_no_loop():
    def broken(*_):
        raise BrokenPipeError

    structlog.configure(processors=[broken])
    loop = Scripted(0.01, ZeroDivisionError(), StoreUnavailable("lost"), False)

    async def are_done():
        return loop.batches >= 4

    async with loop.running():
        await until(are_done, "it goes on")


async def test_a_loop_that_is_ended_from_outside_says_so():
    before = failures()
    with capture_logs() as lines:
        async with Scripted(LONG).running():
            [task] = [t for t in asyncio.all_tasks() if t.get_name() == "scripted"]
            task.cancel()
            await asyncio.wait([task])
            await asyncio.sleep(0)
    assert lines == [{"event": "scripted_ended", "kind": "CancelledError", "log_level": "error"}]
    assert failures() == before + 1
