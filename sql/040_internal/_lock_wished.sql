create function preauth._lock_wished(wishes preauth._wish[], out window_ids bigint[], out rolls boolean, out raised_until timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  select array_agg(l.window_id), bool_or(l.rolls), min(l.raised_until) into window_ids, rolls, raised_until
  from (
    select w.window_id, w.slice_length is not null as rolls, w.raised_until
    from preauth.budget_window as w
    where w.window_id = any (array(select unnest((x.route).window_ids) from unnest(wishes) as x))
    order by w.depth desc, w.account_id, w.window_id
    for no key update
  ) as l;
end
$$;
comment on function preauth._lock_wished(preauth._wish[]) is 'Locks the windows of wishes in the order of preauth._lock_windows. window_ids: theirs; rolls: whether one of them is rolling; raised_until: when the first of their raises ends.';
