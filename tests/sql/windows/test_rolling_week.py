"""A simulated week on a rolling day of 24 slices, second by second.

The database takes the steps itself: at each second of the week one call is made (a charge, or a
reserve, or the settlement or release of one that was made before), and noted. ``make test`` walks
a day and an hour so; the whole week, 604,800 steps, is for the nightly setting.
"""

import os
from collections import deque
from datetime import timedelta

import psycopg
import pytest

from tests.support.money import rolling, tokens

LIMIT = 1000
DAY = 24 * 3600
WEEK = 7 * DAY
NIGHTLY = "PREAUTH_TEST_SEQUENCES" in os.environ
SECONDS = WEEK if NIGHTLY else DAY + 3600
CHUNK = 5_000

# Calls are drawn from hashes of the second, so that the week is the same each time. Busy hours ask much, quiet ones nothing.
WALK = """
create table test_clock.spent (second integer, amount bigint);
create table test_clock.denied (second integer, taken bigint);
create function test_clock.draw(second integer, what integer, below integer) returns integer
language sql immutable as $$ select (hashint8extended(second * 16::bigint + what, 7) & 2147483647)::integer % below $$;

create function test_clock.walk(first integer, past integer, start timestamptz) returns void
language plpgsql as $$
declare
  busy integer;
  amount integer;
  held text;
  reply jsonb;
begin
  for second in first .. past - 1 loop
    update test_clock.now set at = start + make_interval(secs => second);
    busy := (array[0, 30, 30, 100])[1 + test_clock.draw(second / 3600, 0, 4)];
    continue when test_clock.draw(second, 1, 100) >= busy;
    amount := (array[1, 1, 2, 7, 30])[1 + test_clock.draw(second, 2, 5)];
    case test_clock.draw(second, 3, 4)
      when 0 then
        reply := preauth_api.reserve('r' || second, 'ann', jsonb_build_object('tokens', amount), ttl_seconds => 3600);
      when 1 then
        held := 'r' || second - 1 - test_clock.draw(second, 4, 3500);
        if exists (select from preauth.reservation as r where r.request_id = held and r.account_id = 'ann' and r.state = 'authorized' and r.call = 'reserve') then
          if test_clock.draw(second, 5, 5) = 0 then
            perform preauth_api.release(held, 'not sent');
          else
            select test_clock.draw(second, 6, l.amount::integer + 1) into amount from preauth.reservation as r
            join preauth.hold_line as l on l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
            where r.request_id = held and r.account_id = 'ann';
            perform preauth_api.settle(held, jsonb_build_object('tokens', amount));
            insert into test_clock.spent values (second, amount);
          end if;
        end if;
        continue;
      else
        reply := preauth_api.charge('c' || second, 'ann', jsonb_build_object('tokens', amount));
        if reply ->> 'decision' = 'authorized' then
          insert into test_clock.spent values (second, amount);
        end if;
    end case;
    if reply ->> 'decision' = 'denied' then
      insert into test_clock.denied values (second, 1000 - (reply ->> 'available')::bigint);
      if (reply ->> 'available')::bigint >= amount then
        raise 'denied % with % available at second %', amount, reply ->> 'available', second;
      end if;
    end if;
  end loop;
end $$;
"""


@pytest.mark.slow
async def test_no_trailing_day_ever_admits_more_than_the_limit(ledger, clock, database_url):
    """Spend is charged, or held and settled seconds or hours later, or given back."""
    await ledger.grant("ann", LIMIT, window=rolling(DAY, 24), on_expiry="release")
    start = clock.now + timedelta(seconds=1234)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(WALK.encode())
        for first in range(0, SECONDS, CHUNK):
            past = min(first + CHUNK, SECONDS)
            connection.execute(b"select test_clock.walk(%s, %s, %s)", [first, past, start])
            connection.execute(b"vacuum test_clock.now, preauth.budget_window, preauth.window_slice")  # fmt: skip
        spent = dict(connection.execute(b"select second, sum(amount)::bigint from test_clock.spent group by 1").fetchall())  # fmt: skip
        denied = connection.execute(b"select count(*) from test_clock.denied").fetchone()[0]
    assert denied > SECONDS // 20
    assert LIMIT * 0.7 < highest_trailing_sum(spent) <= LIMIT


# A denial each second until one is authorized: at which second that is.
DENY = """
create function test_clock.deny(start timestamptz, frees_at integer) returns integer
language plpgsql as $$
declare
  reply jsonb;
begin
  for second in 1 .. 4000 loop
    update test_clock.now set at = start + make_interval(secs => second);
    reply := preauth_api.charge('c' || second, 'ann', '{"tokens": 1}');
    if reply ->> 'decision' = 'authorized' then
      return second;
    elsif (reply ->> 'retry_after_ms')::bigint <> (frees_at - second) * 1000 then
      raise 'told % at second %', reply ->> 'retry_after_ms', second;
    end if;
  end loop;
end $$;
"""


@pytest.mark.slow
async def test_an_hour_of_denied_traffic_alone_still_frees_capacity(ledger, clock):
    """Nothing else is sent, and nothing sweeps: the slice ages out all the same, at its time."""
    await ledger.grant("ann", 100, window=rolling(3600, 60))
    start = clock.set("2026-09-14T12:00:30Z")
    await ledger.charge("all", "ann", tokens(100))
    await ledger.connection.execute(DENY)
    assert await ledger.connection.fetchval("select test_clock.deny($1, 3630)", start) == 3630
    assert await ledger.count("reservation", "state = 'denied'") == 3629


def highest_trailing_sum(spent):
    """Over every second of the week: what was spent in the 24 hours up to it, both ends included."""
    window, total, highest = deque(), 0, 0
    for second in range(WEEK + DAY):
        if second in spent:
            window.append((second, spent[second]))
            total += spent[second]
        while window and window[0][0] < second - DAY:
            total -= window.popleft()[1]
        highest = max(highest, total)
    return highest


def test_the_highest_trailing_sum_sees_what_lies_a_day_apart():
    assert highest_trailing_sum({0: 5, DAY: 7}) == 12
    assert highest_trailing_sum({0: 5, DAY + 1: 7}) == 7
