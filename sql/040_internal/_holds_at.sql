-- The newest holds are the likeliest to be open: walking back from the instant, the sum of what was reserved is soon reached.
create function preauth._holds_at(w preauth.budget_window, at timestamptz, available bigint, reserved bigint, max_count integer)
returns table (request_id text, account_id text, amount bigint, held_at timestamptz, closed_at timestamptz, state text)
language plpgsql stable set plan_cache_mode = force_custom_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
declare
  alone text := case when not exists (select from preauth.account as a where a.path @> array[w.account_id] and a.account_id <> w.account_id) then w.account_id end;
  missing bigint := reserved;
  seen integer := 0;
  looked integer := 0;
  h record;
begin
  if w.window_id is null or missing = 0 then
    return;
  end if;
  for h in
    select r, l
    from preauth.reservation as r
    join preauth.hold_line as l on l.request_id = r.request_id and l.account_id = r.account_id and l.window_id = w.window_id
    where r.created_at <= at and (alone is null or r.account_id = alone)
    order by r.created_at desc
  loop
    looked := looked + 1;
    exit when looked > 20000;
    -- of one batch: what was decided before it left at least as much, and charges are spent when all is decided
    continue when (h.r).created_at = at and coalesce((h.l).available_after < available, false);
    closed_at := preauth._closed_at(h.r, h.l);
    continue when (h.l).amount = 0 or closed_at < at or closed_at = at and ((h.r).call, (h.r).created_at) <> ('charge', at);
    request_id := (h.r).request_id;
    account_id := (h.r).account_id;
    amount := (h.l).amount;
    held_at := (h.r).created_at;
    state := (h.l).state;
    return next;
    missing := missing - amount;
    seen := seen + 1;
    exit when missing <= 0 or seen = max_count;
  end loop;
end
$$;
comment on function preauth._holds_at(preauth.budget_window, timestamptz, bigint, bigint, integer) is
  'The holds that were open on a window at an instant at which reserved was held and available was left, in its budget''s unit: newest first, until they are all of it, or max_count, or 20000 lines were looked at.';
