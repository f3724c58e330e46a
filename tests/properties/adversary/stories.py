"""What the adversary's stories are drawn from."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from tests.properties.adversary.accounts import Definition, Plan
from tests.properties.adversary.calls import is_priced
from tests.support.money import DAY, LIFETIME, fixed, rolling

__all__ = ["FAMILIES", "plans", "traits"]

UNITS = {"cap": "tokens", "usd": "usd_nano", "own": "requests"}
POLICIES = {
    "cap": [LIFETIME, DAY],
    "usd": [LIFETIME, rolling(60, 6)],
    "own": [LIFETIME, fixed(600)],
}
NAMES = st.sampled_from(sorted(UNITS))
IDS = st.sampled_from(["r0", "r1", "r2", "p0", "p1"])
WHO = st.sampled_from([*["ann"] * 6, "team", "org"])
NAMED = st.sampled_from([*[None] * 5, "ann", "ann", "team"])
PARENTS = st.sampled_from([None, "org", "team"])
COUNTS = st.integers(0, 60)
TTLS = st.sampled_from([1, 5, 60, 3600, 86400])
APPLY = st.sampled_from(["now", "next_window"])
SOON = st.sampled_from([1, 5, 60, 3600, 90_000]).map(lambda n: timedelta(seconds=n))
LEAPS = st.sampled_from([0.000001, 0.5, 1, 4, 5, 55, 60, 600, 3600, 86400, 90_000]).map(
    lambda seconds: timedelta(seconds=seconds)
)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[Any, ...]:
    """reserve or charge; some priced, some recorded after the fact."""
    request_id, count = draw(IDS), draw(COUNTS)
    body: dict[str, Any] = {"usage": count} if is_priced(request_id) else {"amounts": {"tokens": count, "usd_nano": count * 1000}}  # fmt: skip
    if draw(st.integers(0, 3)):
        body["ttl_seconds"] = draw(TTLS)
    elif not is_priced(request_id) and draw(st.booleans()):
        body["record"] = True
    return "ask", request_id, draw(WHO), body


@st.composite
def limits(draw: st.DrawFn, name: str) -> int | None:
    amount = draw(st.none() | st.integers(0, 120))
    return amount if amount is None or name != "usd" else amount * 1000


def traits() -> st.SearchStrategy[dict[str, tuple[Any, ...]]]:
    """Of each name of a budget what stays as it is: enforcement, overdraft, overage, on_expiry.

    As on_expiry stays, every decision gives back what has lapsed, and what it says is available is exact.
    """
    one = st.tuples(
        st.sampled_from([("hard", 0), ("hard", 0), ("soft", 20), ("observe", 0)]),
        st.sampled_from(["charge", "reject"]),
        st.sampled_from(["keep", "release", "release", "charge"]),
    ).map(lambda t: (*t[0], t[1], t[2]))
    return st.fixed_dictionaries(dict.fromkeys(UNITS, one))


@st.composite
def plans(draw: st.DrawFn, kept: dict[str, tuple[Any, ...]]) -> dict[str, Plan]:
    """Two plans, with a cap each that may count alike; the second may have more."""
    return {
        plan_id: Plan(
            plan_id,
            [
                Definition(name, UNITS[name], draw(st.sampled_from(POLICIES[name])), limit, *kept[name])
                for name in (["cap"] if plan_id == "p" else ["cap", "own"])
                for limit in [draw(limits(name))]
            ],
        )
        for plan_id in ("p", "q")
    }  # fmt: skip


@st.composite
def own_budgets(draw: st.DrawFn) -> tuple[Any, ...]:
    """The traits are the story's."""
    name = draw(NAMES)
    return (
        "put_budget", draw(WHO), (name, draw(st.sampled_from(POLICIES[name])), draw(limits(name))), draw(APPLY),
    )  # fmt: skip


LIFE = st.one_of(
    *(bodies() for _ in range(6)),
    st.tuples(st.just("settle"), IDS, NAMED, COUNTS),
    st.tuples(st.just("settle"), IDS, NAMED, COUNTS),
    st.tuples(st.just("settle"), IDS, NAMED, st.none()),
    st.tuples(st.just("give_back"), IDS, NAMED),
    st.tuples(st.just("extend"), IDS, NAMED, TTLS),
    st.tuples(st.just("cancel"), IDS, NAMED),
    st.tuples(st.just("resolve"), IDS, NAMED, st.sampled_from(["settle", "release", "accept_overage"]), COUNTS),
    st.tuples(st.just("swept")),
)  # fmt: skip
CHANGES = st.one_of(
    own_budgets(),
    st.tuples(st.just("put_plan"), st.sampled_from(["p", "q"]), st.none() | st.integers(0, 120), APPLY),
    st.tuples(st.just("delete_budget"), WHO, NAMES),
    st.tuples(st.just("switch_plan"), WHO, st.sampled_from(["p", "q"]), APPLY | SOON),
    st.tuples(st.just("move"), st.sampled_from(["ann", "team"]), PARENTS),
    st.tuples(st.just("suspend"), WHO, st.sampled_from(["suspended", "active", "active"])),
    st.tuples(st.just("put_raise"), WHO, NAMES, st.integers(1, 80), SOON),
    st.tuples(st.just("delete_raise"), WHO, NAMES),
    st.tuples(st.just("correct"), WHO, NAMES, st.none() | st.integers(-90, 90).filter(bool), st.sampled_from(["k0", "k1", "k2"])),
    st.tuples(st.just("publish"), st.integers(1, 9)),
    st.tuples(st.just("due")),
)  # fmt: skip
CALLS = st.one_of(LIFE, LIFE, LIFE, CHANGES)
ONE_BY_ONE = st.one_of(
    CALLS.map(lambda call: ("once", call)),
    CALLS.map(lambda call: ("once", call)),
    CALLS.map(lambda call: ("once", call)),
    LIFE.map(lambda call: ("twice", call)),
    LEAPS.map(lambda by: ("leap", by)),
    st.tuples(st.just("turn"), st.integers(0, 9), st.sampled_from([-1, 0, 1])),
)
AT_ONCE = st.one_of(
    st.tuples(st.just("both"), CALLS, CALLS), LIFE.map(lambda call: ("both", call, call))
)
BEGINNINGS = st.lists(bodies().map(lambda call: ("once", call)), min_size=4, max_size=8)
"""Most of what happens to a reservation happens to one that there is."""
FAMILIES = {
    name: st.tuples(BEGINNINGS, st.lists(steps, min_size=12, max_size=36)).map(
        lambda s: s[0] + s[1]
    )
    for name, steps in [("one by one", ONE_BY_ONE), ("two at once", ONE_BY_ONE | AT_ONCE)]
}
