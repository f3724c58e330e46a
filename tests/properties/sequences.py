"""What the sequences are drawn from: zones, budgets, and things to do."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.properties.model import Account, Budget
from tests.properties.periods import WEEKDAYS
from tests.support.money import LIFETIME, calendar, cycle, fixed, rolling

__all__ = ["FAMILIES", "OPERATIONS", "STARTS", "accounts"]

ZONES = [
    "UTC", "Europe/Amsterdam", "America/New_York", "America/St_Johns", "America/Havana",
    "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "Asia/Kathmandu", "Asia/Tehran",
    "America/Sao_Paulo", "Antarctica/Troll", "Pacific/Kiritimati", "Pacific/Niue", "Asia/Beirut",
    "Africa/Casablanca", "America/Santiago",
]  # fmt: skip

CALENDARS = st.one_of(
    st.sampled_from(["hour", "day", "month"]).map(calendar),
    st.sampled_from(WEEKDAYS).map(lambda day: calendar("week", week_start=day)),
    st.builds(
        lambda period, month: calendar(period, year_start_month=month),
        st.sampled_from(["quarter", "year"]),
        st.integers(1, 12),
    ),
)
CYCLES = st.sampled_from(["month", "year"]).map(cycle)
ROLLINGS = st.sampled_from([(10, 10), (60, 6), (3600, 4), (86400, 24), (604_800, 7), (5, 1)]).map(
    lambda r: rolling(*r)
)
OTHERS = st.one_of(st.sampled_from([7, 3600, 90_000]).map(fixed), st.just(LIFETIME))
FAMILIES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "calendar": CALENDARS,
    "cycle": CYCLES,
    "rolling": ROLLINGS,
    "mixed": st.one_of(CALENDARS, CYCLES, ROLLINGS, OTHERS),
}

# Rules of before 2021 are the same in every edition of the time zone database in use.
NOTABLE = [
    "2011-12-30T09:59:50", "2012-02-29T23:59:50", "2013-12-31T23:59:50", "2014-03-30T00:59:50",
    "2015-10-25T00:59:50", "2016-02-28T12:00:00", "2016-10-01T15:29:50", "2017-04-01T14:59:50",
    "2017-11-05T03:59:50", "2018-01-30T23:59:50", "2018-03-25T00:30:00", "2018-08-31T09:59:50",
]  # fmt: skip
STARTS = st.one_of(
    st.sampled_from(NOTABLE).map(datetime.fromisoformat),
    st.datetimes(datetime(2011, 12, 1), datetime(2018, 12, 31)),  # noqa: DTZ001
).map(lambda naive: naive.replace(tzinfo=UTC))
ANCHORS = st.one_of(
    st.sampled_from([date(2012, 1, 31), date(2012, 2, 29), date(2015, 12, 30), date(2019, 6, 1)]),
    st.dates(date(2010, 1, 1), date(2019, 12, 31)),
)

LIMITS = st.one_of(st.integers(0, 120), st.just(100), st.none())
AMOUNTS = st.one_of(st.integers(0, 60), st.integers(0, 130))
PICK = st.integers(0, 30)
NUDGES = st.sampled_from([timedelta(0), timedelta(microseconds=-1), timedelta(microseconds=1)])
LEAPS = st.one_of(
    st.integers(0, 30_000_000).map(lambda n: timedelta(microseconds=n)),
    st.integers(0, 7200).map(lambda n: timedelta(seconds=n)),
    st.integers(1, 100).map(lambda n: timedelta(hours=n)),
    st.integers(1, 100).map(lambda n: timedelta(days=n)),
)
TTLS = st.sampled_from([1, 5, 30, 600, 7200, 86400])

OPERATIONS = st.one_of(
    st.tuples(st.just("leap"), LEAPS),
    st.tuples(st.just("turn"), PICK, NUDGES),
    st.tuples(st.just("turn"), PICK, NUDGES),
    st.tuples(st.just("reserve"), PICK, AMOUNTS, TTLS),
    st.tuples(st.just("reserve"), PICK, AMOUNTS, TTLS),
    st.tuples(st.just("charge"), PICK, AMOUNTS),
    st.tuples(st.just("charge"), PICK, AMOUNTS),
    st.tuples(st.just("settle"), PICK, AMOUNTS),
    st.tuples(st.just("settle"), PICK, AMOUNTS),
    st.tuples(st.just("release"), PICK),
    st.tuples(st.just("sweep")),
    st.tuples(st.just("limit"), PICK, LIMITS, st.sampled_from(["now", "next_window"])),
    st.tuples(st.just("adjust"), PICK, st.integers(-150, 150)),
    st.tuples(st.just("zone"), PICK, st.sampled_from(ZONES)),
    st.tuples(st.just("anchor"), PICK, ANCHORS),
    st.tuples(st.just("retry")),
    st.tuples(st.just("retry")),
)


@st.composite
def budgets(draw: st.DrawFn, name: str, policies: st.SearchStrategy[dict[str, Any]]) -> Budget:
    enforcement = draw(st.sampled_from(["hard", "hard", "hard", "soft", "observe"]))
    return Budget(
        name=name,
        unit=draw(st.sampled_from(["tokens", "tokens", "tokens", "requests"])),
        policy=draw(policies),
        limit=draw(LIMITS),
        enforcement=enforcement,
        overdraft=draw(st.integers(0, 50)) if enforcement == "soft" else 0,
        on_expiry=draw(st.sampled_from(["keep", "release", "release", "charge"])),
        thresholds=sorted(draw(st.sets(st.sampled_from([1, 50, 80, 95, 100, 130]), max_size=4))),
    )


@st.composite
def accounts(draw: st.DrawFn, policies: st.SearchStrategy[dict[str, Any]]) -> list[Account]:
    """An organisation and a person in it, one to three budgets each."""
    made: list[Account] = []
    for name in ("org", "ann"):
        count = draw(st.integers(1, 3))
        own = [draw(budgets(f"b{n}", policies)) for n in range(count)]
        zone, anchor = draw(st.sampled_from(ZONES)), draw(ANCHORS)
        made.append(Account(name, zone, anchor, own, made[-1] if made else None))
    return made
