"""Exactly once: which replies under one id can be, and which cannot."""

import pytest

from tests.histories.once import Once

FIRST = {"said": b"a", "replayed": False}
AGAIN = {"said": b"a", "replayed": True}

GOOD = {
    "once": [(FIRST, 0, 1)],
    "and once more": [(FIRST, 0, 1), (AGAIN, 2, 3)],
    "two at once, the replay answered first": [(AGAIN, 0, 1), (FIRST, 0, 2)],
    "the first reply was lost": [(AGAIN, 0, 1), (AGAIN, 2, 3)],
}
BAD = {
    "done twice": [(FIRST, 0, 1), (FIRST, 2, 3)],
    "done twice at once": [(FIRST, 0, 9), (FIRST, 0, 9)],
    "answered in two ways": [(FIRST, 0, 1), ({**AGAIN, "said": b"b"}, 2, 3)],
    "a replay of what was not done yet": [(AGAIN, 0, 1), (FIRST, 2, 3)],
}


def faults(replies):
    once = Once()
    noted = [
        once.note("r1", **reply, invoked=invoked, answered=answered)
        for reply, invoked, answered in replies
    ]
    return [fault for fault in noted if fault]


@pytest.mark.parametrize("name", GOOD)
def test_replies_that_can_be(name):
    assert faults(GOOD[name]) == []


@pytest.mark.parametrize("name", BAD)
def test_replies_that_cannot_be(name):
    assert len(faults(BAD[name])) == 1


def test_every_id_has_a_history_of_its_own():
    once = Once()
    for name in ("r1", "r2"):
        assert once.note(name, **FIRST, invoked=0, answered=1) is None
    assert len(once) == 2
