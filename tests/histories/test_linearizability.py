"""The checker itself: it accepts histories that can be explained, and none that cannot."""

import random
from collections import Counter

import pytest

from tests.histories.history import Op
from tests.histories.linearizability import _LazySearch, _only_sums_count, _Search, check

LIMIT = 1000


def hold(invoked, answered, amount, **more):
    return Op(invoked, answered, delta=amount, fits=amount, **more)


def denial(invoked, answered, amount, **more):
    return Op(invoked, answered, lacks=amount, **more)


def settlement(invoked, answered, held, spent, **more):
    return Op(invoked, answered, delta=spent - held, **more)


def lapse(at, held):
    return Op(at, at, delta=-held)


def late(invoked, answered, spent, **more):
    return Op(invoked, answered, delta=spent, **more)


GOOD = {
    "nothing happened": [],
    "one after the other": [hold(0, 1, 600), denial(2, 3, 600), settlement(4, 5, 600, 100), hold(6, 7, 900)],
    "two at once, one fits": [hold(0, 9, 600), denial(0, 9, 600)],
    "denied while another held": [hold(0, 9, 600), denial(1, 2, 600), settlement(10, 11, 600, 0)],
    "denied before a release that was answered first": [
        hold(0, 1, 1000), denial(2, 9, 1), settlement(3, 4, 1000, 0),
    ],
    "a slow hold was decided before a fast one": [hold(0, 9, 600, left=400), hold(1, 2, 300, left=100)],
    "a settlement makes room for a hold that began before it": [
        hold(0, 1, 1000), hold(2, 9, 500), settlement(3, 8, 1000, 400),
    ],
    "figures of a denial": [hold(0, 1, 700, left=300), denial(2, 3, 301, left=300)],
    "a lease that lapsed made room for who asked then": [
        hold(0, 1, 1000), lapse(5, 1000), hold(2, 9, 800),
    ],
    "a late settlement goes over the limit": [
        hold(0, 1, 1000), lapse(5, 1000), hold(6, 7, 1000), late(8, 9, 400), denial(10, 11, 1),
    ],
    "a late settlement that was answered before a hold came after it": [
        hold(0, 1, 600), late(2, 9, 500), hold(3, 10, 400), denial(11, 12, 1),
    ],
    "a correction may go over the limit": [hold(0, 1, 900), Op(2, 3, delta=200), denial(4, 5, 1)],
}  # fmt: skip

BAD = {
    "a hold in the room of a lease that lapsed only later": [
        hold(0, 1, 1000), lapse(5, 1000), hold(2, 4, 800),
    ],
    "a denial for the sake of a lease that had lapsed": [
        hold(0, 1, 1000), lapse(5, 1000), denial(6, 7, 1),
    ],
    "a late settlement that nobody counted": [
        hold(0, 1, 500), late(2, 3, 500), hold(4, 5, 500),
    ],
    "over-admission": [hold(0, 1, 600), hold(2, 3, 600)],
    "over-admission at once": [hold(0, 9, 600), hold(0, 9, 600)],
    "a stale denial after all came back": [
        hold(0, 1, 1000), settlement(2, 3, 1000, 0), denial(4, 5, 1),
    ],
    "a denial though nobody held": [denial(0, 1, 1000)],
    "a denial before what it would be due to": [denial(0, 1, 600), hold(2, 3, 1000)],
    "a lost settlement": [
        hold(0, 1, 800, left=200), settlement(2, 3, 800, 700, left=300), hold(4, 5, 100, left=900),
    ],
    "a doubled settlement": [
        hold(0, 1, 800, left=200), settlement(2, 3, 800, 700, left=300), hold(4, 5, 1, left=-401),
    ],
    "a release that gave back twice": [
        hold(0, 1, 500, left=500), settlement(2, 3, 500, 0, left=1000), hold(4, 5, 1, left=1499),
    ],
    "two holds that both saw the same room": [hold(0, 9, 300, left=700), hold(0, 9, 300, left=700)],
    "answers out of order": [hold(0, 1, 300, left=400), hold(2, 3, 300, left=700)],
    "figures of a moment that never was": [hold(0, 1, 700, left=300), denial(2, 3, 301, left=299)],
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_history_that_has_an_explanation_holds(name):
    assert check(GOOD[name], LIMIT).holds


@pytest.mark.parametrize(
    "name", [name for name in (*GOOD, *BAD) if _only_sums_count({**GOOD, **BAD}[name])]
)
def test_the_lazy_search_agrees(name):
    ops = sorted({**GOOD, **BAD}[name], key=lambda op: op.invoked)
    assert _LazySearch(ops, LIMIT).run(0).holds == (name in GOOD)


@pytest.mark.parametrize("name", BAD)
def test_a_history_that_has_none_is_a_fault(name):
    verdict = check(BAD[name], LIMIT)
    assert verdict.fault
    assert not verdict.undecided


def simulated(seed, clients, calls, *, figures, late_share=0.0):
    """A window that works, and calls that take effect at 0, 1, 2 ... somewhere in their time."""
    rng, used, ops, held = random.Random(seed), 0, [], []
    for at in range(calls):
        invoked, answered = at - rng.random() * clients, at + rng.random() * clients
        closable = [one for one in held if one[1] <= at]
        amount = rng.randrange(1, LIMIT // 8)
        if closable and rng.random() < 0.5:
            held.remove(one := rng.choice(closable))
            spent = rng.randrange(one[0] // 4 + 1)
            used += spent - one[0]
            invoked, moved = max(invoked, one[1]), {"delta": spent - one[0]}
        elif late_share and rng.random() < late_share:
            used += amount
            moved = {"delta": amount}
        elif used + amount <= LIMIT:
            used += amount
            held.append((amount, answered))
            moved = {"delta": amount, "fits": amount}
        elif rng.random() < 0.2:
            used -= LIMIT // 2
            moved = {"delta": -(LIMIT // 2)}
        else:
            moved = {"lacks": amount}
        ops.append(Op(invoked, answered, **moved, left=LIMIT - used if figures else None))
    return ops


@pytest.mark.parametrize("figures", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_what_a_right_window_answers_many_clients_is_explained(seed, figures):
    ops = simulated(seed, 16, 600, figures=figures)
    assert any(op.lacks for op in ops)
    assert check(ops, LIMIT).holds


@pytest.mark.parametrize("seed", range(5))
def test_late_settlements_among_hundreds_are_explained(seed):
    assert check(simulated(seed, 8, 300, figures=True, late_share=0.05), LIMIT).holds


def test_the_lazy_search_leaves_out_no_order_that_matters():
    """Histories with late settlements, right ones and some with a limit that was never theirs."""
    told = Counter()
    for seed in range(300):
        ops = simulated(seed, 5, 14, figures=False, late_share=0.3)
        calls = sorted(ops, key=lambda op: op.invoked)
        limit = LIMIT - seed % 3 * 60
        faults = [search(calls, limit).run(0).fault for search in (_Search, _LazySearch)]
        assert (faults[0] is None) == (faults[1] is None), (seed, faults)
        told[faults[0] is None] += 1
    assert min(told.values()) >= 20, told


@pytest.mark.parametrize("seed", range(5))
def test_one_hold_too_many_among_hundreds_is_found(seed):
    ops = simulated(seed, 16, 600, figures=True)
    last = max(op.answered for op in ops)
    assert check([*ops, hold(last + 1, last + 2, LIMIT)], LIMIT).fault


@pytest.mark.parametrize("seed", range(5))
def test_one_lost_movement_among_hundreds_is_found(seed):
    """The window forgot one settlement that it had acknowledged: all its later figures say so."""
    ops = simulated(seed, 4, 300, figures=True)
    moved = [n for n, op in enumerate(ops) if op.delta < 0 and op.left is not None]
    lost = moved[len(moved) // 2]
    doctored = [*ops[:lost], *ops[lost + 1 :]]
    assert not check(doctored, LIMIT).holds
