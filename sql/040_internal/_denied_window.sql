-- Two look-ups, not a join: that takes twice as long to plan, for a connection that asks for the first time. An account may have had thousands of windows:
-- which index leads to this one is for the planner to say each time.
create function preauth._denied_window(r preauth.reservation) returns preauth.budget_window
language plpgsql stable set plan_cache_mode = force_custom_plan
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  scope text := r.denial ->> 'scope';
  period text := r.denial ->> 'window';
  w preauth.budget_window;
  b record;
  found preauth.budget_window;
  rank bigint;
  best bigint;
begin
  for w in
    select x.* from preauth.budget_window as x
    where x.account_id = scope and x.window_key = period and x.starts_at <= r.created_at and x.ends_at > r.created_at
  loop
    select x.name, x.unit, x.created_at, x.retired_at into b from preauth.budget as x where x.budget_id = w.budget_id;
    -- budgets that were there then come first, and of several the newest
    rank := case when b.created_at <= r.created_at and coalesce(b.retired_at >= r.created_at, true) then w.budget_id else w.budget_id - 9223372036854775807 end;
    if b.name = r.denial ->> 'budget' and b.unit = r.denial ->> 'unit' and coalesce(rank > best, true) then
      found := w;
      best := rank;
    end if;
  end loop;
  return found;
end
$$;
comment on function preauth._denied_window(preauth.reservation) is 'The window that could not cover a denied request; null where the reason is no window''s.';
