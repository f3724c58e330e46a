"""Over 20 years and in every zone, windows begin where the ones before them end.

Zones whose clocks do the same at the same instants over those years are walked once. Weeks and longer
periods are walked from end to end. Days and hours are walked around every jump of the clocks: between
jumps local time is a constant away from UTC. ``PREAUTH_TEST_SEQUENCES`` (the nightly setting) walks
the days and hours of all the years too, and weeks, quarters, years and cycles from every start.
"""

import os
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.money import calendar, cycle

NIGHTLY = "PREAUTH_TEST_SEQUENCES" in os.environ
PARTS = 8
"""Of the longest walk, so that several workers share it."""
FROM, UNTIL = datetime(2010, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)

# Every jump of a zone's clocks, as an instant and the offset from it on, looked for in steps of three days.
JUMPS = """
create function test_clock.jumps(zone text, low timestamptz, until timestamptz) returns text[]
language plpgsql as $$
declare
  found text[] := array[(low at time zone zone - low at time zone 'UTC')::text];
  high timestamptz;
  a timestamptz;
  b timestamptz;
  middle timestamptz;
begin
  while low < until loop
    high := low + interval '72 hours';
    if high at time zone zone - high at time zone 'UTC' <> low at time zone zone - low at time zone 'UTC' then
      a := low;
      b := high;
      while b - a > interval '1 second' loop
        middle := a + make_interval(secs => floor(extract(epoch from b - a) / 2));
        if middle at time zone zone - middle at time zone 'UTC' = low at time zone zone - low at time zone 'UTC' then
          a := middle;
        else
          b := middle;
        end if;
      end loop;
      found := found || b::text || (b at time zone zone - b at time zone 'UTC')::text;
    end if;
    low := high;
  end loop;
  return found;
end $$;
"""

# From window to window: null, or the instant at which two do not fit together.
WALK = """
create function test_clock.walk(policy jsonb, anchor date, zone text, low timestamptz, until timestamptz, out steps integer, out broken_at timestamptz)
language plpgsql as $$
declare
  w record;
  before timestamptz;
begin
  steps := 0;
  select b.starts_at, b.ends_at into w from preauth._window_bounds(policy, anchor, zone, low) as b;
  if not (w.starts_at <= low and low < w.ends_at) then
    broken_at := low;
  end if;
  while broken_at is null and w.ends_at < until loop
    before := w.ends_at;
    if (select (b.starts_at, b.ends_at) from preauth._window_bounds(policy, anchor, zone, before - interval '1 microsecond') as b)
        <> (w.starts_at, w.ends_at) then
      broken_at := before - interval '1 microsecond';
    end if;
    select b.starts_at, b.ends_at into w from preauth._window_bounds(policy, anchor, zone, before) as b;
    if w.starts_at <> before or w.ends_at <= before then
      broken_at := before;
    end if;
    steps := steps + 1;
  end loop;
end $$;
"""

LONG = {
    "weeks from Monday": (calendar("week", week_start="monday"), None, 1043),
    "months": (calendar("month"), None, 239),
    "quarters": (calendar("quarter", year_start_month=1), None, 79),
    "quarters from February": (calendar("quarter", year_start_month=2), None, 79),
    "years": (calendar("year", year_start_month=1), None, 19),
    "years from April": (calendar("year", year_start_month=4), None, 19),
    "monthly cycles of the 31st": (cycle("month"), "2012-01-31", 239),
    "monthly cycles of the 29th": (cycle("month"), "2016-02-29", 239),
    "monthly cycles of the 1st": (cycle("month"), "2035-06-01", 239),
    "yearly cycles of 29 February": (cycle("year"), "2016-02-29", 19),
    "yearly cycles of 31 December": (cycle("year"), "2009-12-31", 19),
}

WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
EVERY_START = [
    *((calendar("week", week_start=day), None) for day in WEEKDAYS),
    *((calendar("quarter", year_start_month=month), None) for month in range(1, 13)),
    *((calendar("year", year_start_month=month), None) for month in range(1, 13)),
    *((cycle("month"), f"2012-01-{day:02d}") for day in range(1, 32)),
    *((cycle("year"), f"2012-{month:02d}-{day}") for month in range(1, 13) for day in (15, 29)),
]

AROUND = [
    (calendar("hour"), timedelta(hours=5)),
    (calendar("day"), timedelta(hours=60)),
    (calendar("week", week_start="sunday"), timedelta(days=11)),
    (calendar("week", week_start="saturday"), timedelta(days=11)),
]


@pytest.fixture
def walker(database_url, clock):
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(JUMPS.encode())
        connection.execute(WALK.encode())
        yield connection


def zones(connection):
    """One zone of each kind, with its jumps; and how many zones there are in all."""
    rows = connection.execute(
        b"select name, test_clock.jumps(name, %s, %s) from pg_timezone_names"
        b" where name !~ '^(posix|right)/|^(Factory|localtime|posixrules)$' order by name",
        [FROM, UNTIL],
    ).fetchall()
    kinds = {tuple(found): name for name, found in rows}
    return {zone: [datetime.fromisoformat(at) for at in found[1::2]] for found, zone in kinds.items()}, len(rows)  # fmt: skip


def walk(connection, policy, anchor, zone, low, until):
    """How many windows follow each other seamlessly; fails where two do not."""
    steps, broken_at = connection.execute(
        b"select * from test_clock.walk(%s, %s, %s, %s, %s)",
        [Jsonb(policy), anchor, zone, low, until],
    ).fetchone()
    assert broken_at is None, (policy, anchor, zone, broken_at)
    return steps


def test_weeks_and_longer_periods_follow_each_other_for_20_years_in_every_zone(walker):
    kinds, count = zones(walker)
    assert count > 400
    assert 50 < len(kinds) < count
    for zone in kinds:
        for name, (policy, anchor, least) in LONG.items():
            steps = walk(walker, policy, anchor, zone, FROM, UNTIL)
            assert least <= steps <= least + 2, (name, zone)


def test_days_and_hours_follow_each_other_around_every_jump_of_the_clocks(walker):
    kinds, _ = zones(walker)
    jumps = 0
    for zone, instants in kinds.items():
        for jump in instants:
            jumps += 1
            for policy, around in AROUND:
                steps = walk(walker, policy, None, zone, jump - around, jump + around)
                assert steps >= 2, (zone, jump, policy)
    assert jumps > 1000


@pytest.mark.skipif(not NIGHTLY, reason="7300 days in every zone: the nightly setting")
def test_days_follow_each_other_for_20_years_in_every_zone(walker):
    for zone in zones(walker)[0]:
        assert walk(walker, calendar("day"), None, zone, FROM, UNTIL) >= 7303


@pytest.mark.skipif(
    not NIGHTLY, reason="every start of a period in every zone: the nightly setting"
)
def test_periods_from_every_start_follow_each_other_for_20_years_in_every_zone(walker):
    for zone in zones(walker)[0]:
        for policy, anchor in EVERY_START:
            assert walk(walker, policy, anchor, zone, FROM, UNTIL) >= 19, (policy, anchor, zone)


@pytest.mark.skipif(not NIGHTLY, reason="175,000 hours in every zone: the nightly setting")
@pytest.mark.parametrize("part", range(PARTS))
def test_hours_follow_each_other_for_20_years_in_every_zone(walker, part):
    for zone in sorted(zones(walker)[0])[part::PARTS]:
        assert walk(walker, calendar("hour"), None, zone, FROM, UNTIL) >= 175_000, zone
