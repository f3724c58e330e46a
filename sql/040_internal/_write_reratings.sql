create function preauth._write_reratings(reratings preauth._rerating[], wrong_table bigint, right_table bigint, unit text, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz := preauth._now();
begin
  with moved as (
    select w.difference, c.*
    from preauth._rerated_windows(reratings, unit) as w
    cross join lateral preauth._correct_settled(w.window_id, w.difference::bigint, at) as c
  )
  insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
  select m.account_id, format('rerate:%s:%s:%s', wrong_table, right_table, gen_random_uuid()), 'adjustment', m.window_id,
    jsonb_build_object(unit, m.difference), at, coalesce(actor, preauth._caller()), coalesce(reason, format('rerated from price table %s to %s', wrong_table, right_table))
  from moved as m
  order by m.window_id;
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor, detail)
  select f.request_id, f.account_id, 'rerated', at, coalesce(actor, preauth._caller()), jsonb_strip_nulls(jsonb_build_object('unit', unit,
    'wrong_table', wrong_table, 'right_table', right_table, 'before', f.before, 'after', f.after, 'difference', f.after - f.before, 'reason', reason))
  from unnest(reratings) as f
  order by f.request_id, f.account_id;
end
$$;
comment on function preauth._write_reratings(preauth._rerating[], bigint, bigint, text, text, text) is
  'Moves the windows of rerated spends by an adjustment each, and writes down by which table every spend is priced now: that is what keeps it from being rerated twice. The windows are locked.';
