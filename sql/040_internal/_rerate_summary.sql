create function preauth._rerate_summary(reratings preauth._rerating[]) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('events', coalesce(sum(a.events), 0), 'before', coalesce(sum(a.before), 0), 'after', coalesce(sum(a.after), 0),
    'difference', coalesce(sum(a.after - a.before), 0),
    'accounts', coalesce(jsonb_agg(jsonb_build_object('account_id', a.account_id, 'events', a.events, 'before', a.before, 'after', a.after,
      'difference', a.after - a.before) order by a.account_id), '[]'))
  from (select f.account_id, count(*) as events, sum(f.before) as before, sum(f.after) as after from unnest(reratings) as f group by f.account_id) as a
$$;
comment on function preauth._rerate_summary(preauth._rerating[]) is 'What reratings change, in all and by the account that spent, in the unit of the tables.';
