"""Property: the windows of a policy cover time without gap and without overlap."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.support.calendars import WEEKDAYS, period_of
from tests.support.money import budget, calendar

MICROSECOND = timedelta(microseconds=1)

ZONES = [
    "UTC", "Europe/Amsterdam", "America/New_York", "America/St_Johns", "America/Havana",
    "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "Africa/Cairo", "Asia/Beirut",
    "Asia/Kathmandu", "Asia/Tehran", "America/Sao_Paulo", "America/Asuncion", "Antarctica/Troll",
    "Asia/Amman", "Pacific/Kiritimati", "America/Santiago", "Africa/Casablanca", "Asia/Gaza",
]  # fmt: skip

POLICIES = st.one_of(
    st.sampled_from(["day", "month"]).map(calendar),
    st.sampled_from(WEEKDAYS).map(lambda day: calendar("week", week_start=day)),
    st.builds(
        lambda period, month: calendar(period, year_start_month=month),
        st.sampled_from(["quarter", "year"]),
        st.integers(1, 12),
    ),
)

# Rules of before 2021 are the same in every edition of the time zone database in use.
INSTANTS = st.datetimes(datetime(1990, 1, 1), datetime(2021, 1, 1)).map(  # noqa: DTZ001
    lambda naive: naive.replace(tzinfo=UTC)
)


def transitions(zone, first=1995, last=2021):
    """The instants at which the zone's clocks jump."""
    at, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last, 1, 1, tzinfo=UTC)
    offset = at.astimezone(ZoneInfo(zone)).utcoffset()
    while at < end:
        later = at + timedelta(hours=12)
        if (there := later.astimezone(ZoneInfo(zone)).utcoffset()) != offset:
            yield _jump(at, later, offset, ZoneInfo(zone))
            offset = there
        at = later


def _jump(low, high, offset, zone):
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        low, high = (
            (middle, high) if middle.astimezone(zone).utcoffset() == offset else (low, middle)
        )
    return high.replace(microsecond=0)


class Account:
    """Asks ``balance`` in which window an instant is."""

    def __init__(self, url, clock):
        self.connection = psycopg.connect(url, autocommit=True)
        self.clock = clock

    def put(self, policy, zone):
        call = self.connection.execute
        call("select preauth_api.put_account('ann', %s)", [Jsonb({"time_zone": zone})])
        body = Jsonb(budget(limit=1, window=policy))
        call("select preauth_api.put_budget('ann', 'cap', %s)", [body])

    def window(self, instant):
        self.clock.set(instant)
        row = self.connection.execute("select preauth_api.balance('ann')").fetchone()
        (window,) = row[0]["windows"]
        return tuple(datetime.fromisoformat(window[name]) for name in ("starts_at", "ends_at"))


@pytest.fixture
def account(database_url, clock):
    account = Account(database_url, clock)
    yield account
    account.connection.close()


def assert_partition(account, instant):
    """The instant is inside its window; the neighbours begin and end where it ends and begins."""
    starts, ends = account.window(instant)
    assert starts <= instant < ends
    assert account.window(starts) == (starts, ends)
    assert account.window(ends - MICROSECOND) == (starts, ends)
    assert account.window(ends)[0] == ends
    assert account.window(starts - MICROSECOND)[1] == starts
    return starts, ends


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(policy=POLICIES, zone=st.sampled_from(ZONES), instant=INSTANTS)
@example(calendar("day"), "Pacific/Apia", datetime(2011, 12, 30, 9, 59, 59, tzinfo=UTC))
@example(calendar("week"), "Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC))
@example(calendar("day"), "America/St_Johns", datetime(2010, 11, 7, 3, tzinfo=UTC))
@example(calendar("day"), "America/Havana", datetime(2012, 11, 4, 4, 30, tzinfo=UTC))
def test_windows_are_what_zoneinfo_says_without_gap_or_overlap(account, policy, zone, instant):
    account.put(policy, zone)
    assert assert_partition(account, instant) == period_of(policy, zone, instant)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(zone=st.sampled_from(ZONES), instant=INSTANTS)
def test_hours_have_no_gap_or_overlap(account, zone, instant):
    account.put(calendar("hour"), zone)
    starts, ends = assert_partition(account, instant)
    assert ends - starts <= timedelta(hours=2)


@pytest.mark.parametrize(
    "zone",
    [
        "America/St_Johns",
        "Australia/Lord_Howe",
        "America/Havana",
        "Pacific/Apia",
        "America/Asuncion",
        "Asia/Amman",
        "Asia/Gaza",
    ],
)
@pytest.mark.parametrize("period", ["hour", "day"])
def test_windows_fit_together_around_every_jump_of_the_clocks(account, zone, period):
    account.put(calendar(period), zone)
    for jump in transitions(zone, 2005, 2013):
        for minutes in (-61, -1, 0, 1, 29, 59, 61):
            assert_partition(account, jump + timedelta(minutes=minutes))
