create function preauth._settle_charges(asks preauth._ask[], recorded integer[], rulings preauth._ruling[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  spent integer[];
begin
  spent := array(select r.n from unnest(rulings) as r where r.n = any (recorded) and r.verdict = 'authorized');
  if cardinality(spent) = 0 then
    return;
  end if;
  perform preauth._close_lines(array(
    select row(at, asks[s.n].request_id, asks[s.n].account_id, h.position, h.window_id, 'settled', h.amount)::preauth._closing
    from unnest(spent) as s (n)
    cross join lateral (
      select l.position, l.window_id, l.amount from preauth.hold_line as l
      where l.created_at = at and l.request_id = asks[s.n].request_id and l.account_id = asks[s.n].account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h), at);
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor, usage, cost, price_table_ids)
  select r.account_id, r.request_id, case when preauth._is_record(r.body) then 'recorded_exception' else 'charge' end,
    preauth._chosen_amounts(r), 'completed', at, r.actor, preauth._option_counts(r.body, 0),
    preauth._held_cost(r.body, 0, r.price_table_ids), r.price_table_ids
  from unnest(preauth._held(array(select asks[s.n] from unnest(spent) as s (n) order by s.n))) as r;
  update preauth.reservation as r
  set state = 'settled', closure = jsonb_strip_nulls(jsonb_build_object('amounts', preauth._chosen_amounts(r), 'usage', preauth._option_counts(r.body, 0),
    'cost', preauth._held_cost(r.body, 0, r.price_table_ids)))
  from unnest(spent) as s (n)
  cross join lateral (
    select x.ctid from preauth.reservation as x
    where x.request_id = asks[s.n].request_id and x.account_id = asks[s.n].account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where r.ctid = place.ctid;
end
$$;
comment on function preauth._settle_charges(preauth._ask[], integer[], preauth._ruling[], timestamptz) is 'In a batch of charges: settles what was just held, at what was held.';
