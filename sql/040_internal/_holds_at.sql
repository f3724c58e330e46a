-- The newest holds are the likeliest to have been open: walking back from the instant, the sum of what was reserved is soon reached. Only
-- what nobody has ended can be old, and has an index of its own.
create function preauth._holds_at(w preauth.budget_window, at timestamptz, available bigint, reserved bigint, max_count integer)
returns table (request_id text, account_id text, amount bigint, held_at timestamptz, closed_at timestamptz, state text)
language plpgsql stable set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
  alone text := case when not exists (select from preauth.account as a where a.path @> array[w.account_id] and a.account_id <> w.account_id) then w.account_id end;
  candidates preauth.reservation[] := array(
    select r from preauth.reservation as r
    where r.state in ('unknown', 'overage_review') and r.created_at <= at and (alone is null or r.account_id collate "C" = alone)
    order by r.created_at desc limit 1000);
  last_at timestamptz := at + interval '1 microsecond';
  last_keys text[] := array['', ''];
  missing bigint := reserved;
  seen integer := 0;
  looked integer := 0;
  h record;
begin
  while w.window_id is not null and missing > 0 and candidates is not null loop
    for h in select * from preauth._held_then(candidates, w.window_id, at, available) as t order by t.held_at desc, t.request_id desc loop
      exit when missing <= 0 or seen = max_count;
      select h.request_id, h.account_id, h.amount, h.held_at, h.closed_at, h.state into request_id, account_id, amount, held_at, closed_at, state;
      return next;
      missing := missing - amount;
      seen := seen + 1;
    end loop;
    exit when seen = max_count or looked >= 20000;
    candidates := array(
      select r from preauth.reservation as r
      where r.created_at <= last_at and (r.created_at, r.request_id, r.account_id) < (last_at, last_keys[1], last_keys[2])
        and r.state not in ('denied', 'unknown', 'overage_review') and (alone is null or r.account_id collate "C" = alone)
      order by r.created_at desc, r.request_id desc, r.account_id desc
      limit 100 + 2 * looked);
    exit when cardinality(candidates) = 0;
    looked := looked + cardinality(candidates);
    last_at := candidates[cardinality(candidates)].created_at;
    last_keys := array[candidates[cardinality(candidates)].request_id, candidates[cardinality(candidates)].account_id];
  end loop;
end
$$;
comment on function preauth._holds_at(preauth.budget_window, timestamptz, bigint, bigint, integer) is
  'The holds that were open on a window at an instant at which reserved was held and available was left, in its budget''s unit: until they are all of it, or max_count, or more than 20000 reservations were looked at.';
