create function preauth_api.audit_spend(
  since timestamptz default null,
  until timestamptz default null,
  by text[] default '{day}',
  account_id text default null,
  model text default null,
  label text default null,
  time_zone text default 'UTC',
  max_count integer default 500,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true) || preauth._spend_errors(since, until, by, label, time_zone);
  at timestamptz := preauth._now();
  skipped bigint;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select coalesce(nullif(c.first_key, '')::bigint, 0) into skipped from preauth._read_cursor(cursor) as c;
  return preauth._answered(preauth._page(array_agg(s.item order by s.place), array_agg(preauth._cursor(at, s.place::text, '') order by s.place), max_count))
  from (
    select row_number() over (order by g.day, g.account_id, g.model, g.label, g.unit) as place,
      jsonb_build_object('day', g.day, 'account_id', g.account_id, 'model', g.model, 'label', g.label, 'unit', g.unit, 'amount', g.amount, 'events', g.events) as item
    from (
      select
        case when 'day' = any (by) then (u.occurred_at at time zone audit_spend.time_zone)::date end as day,
        case when 'account' = any (by) then u.account_id end as account_id,
        case when 'model' = any (by) then coalesce(r.model, r.body ->> 'model') end as model,
        case when 'label' = any (by) then r.body -> 'labels' ->> audit_spend.label end as label,
        u.unit, sum(u.amount) as amount, count(*) filter (where u.is_spend) as events
      from (
        select s.request_id, s.account_id, s.occurred_at, a.key as unit, a.value::text::bigint as amount, true as is_spend
        from preauth.usage_event as s
        cross join lateral jsonb_each(s.amounts) as a
        where s.window_id is null and s.occurred_at >= since and s.occurred_at < until
        union all
        select e.request_id, e.account_id, e.occurred_at, e.detail ->> 'unit', (e.detail ->> 'difference')::bigint, false
        from preauth.reservation_event as e
        where e.event = 'rerated' and e.occurred_at >= since and e.occurred_at < until
      ) as u
      left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id
      where (audit_spend.account_id is null or u.account_id = audit_spend.account_id)
        and (audit_spend.model is null or coalesce(r.model, r.body ->> 'model') = audit_spend.model)
      group by 1, 2, 3, 4, 5
    ) as g
    order by place
    offset skipped
    limit max_count + 1
  ) as s;
end
$$;
comment on function preauth_api.audit_spend(timestamptz, timestamptz, text[], text, text, text, text, integer, text) is
  'What was spent in since <= time < until, and by how much reratings changed that, by unit and by what by names: day (in time_zone), account, model, label (the value of the label that label names). amount in the unit; events counts what was spent. Corrections of windows by hand are in audit_adjustments, for they are no spend of a model, and each is of one window. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';
