create function preauth._adjustment_json(e preauth.usage_event) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'at', preauth._time(e.occurred_at), 'account_id', e.account_id, 'kind', e.kind, 'key', e.request_id,
    'budget', w.budget, 'unit', w.unit, 'window', w.window_key,
    'amount', case when e.kind = 'adjustment' then e.amounts -> w.unit end,
    'limit_before', case when e.kind = 'limit_changed' then e.amounts -> 'before' end,
    'limit_after', case when e.kind = 'limit_changed' then e.amounts -> 'after' end,
    'actor', e.actor, 'reason', e.reason)
  from (select) as one
  left join (
    select b.name as budget, b.unit, x.window_key
    from preauth.budget_window as x
    join preauth.budget as b on b.budget_id = x.budget_id
    where x.window_id = e.window_id
  ) as w on true
$$;
comment on function preauth._adjustment_json(preauth.usage_event) is 'A correction of a window, as a list shows it.';
