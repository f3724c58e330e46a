create function preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  replies jsonb[] := array[]::jsonb[];
  reply text;
  from_line integer := 1;
  to_line integer;
begin
  for k in 1 .. cardinality(asks) loop
    to_line := from_line - 1;
    while closed[to_line + 1].request_id = asks[k].request_id and closed[to_line + 1].account_id = asks[k].account_id loop
      to_line := to_line + 1;
    end loop;
    reply := preauth._settlement(asks[k], closed, from_line, to_line, at);
    replies := replies || reply::jsonb;
    answers := answers || row(asks[k].n, 200, null, reply, null)::preauth._answer;
    from_line := to_line + 1;
  end loop;
  insert into preauth.usage_event
    (account_id, request_id, kind, amounts, overage, outcome, provider_request_id, occurred_at, actor, reason, usage, cost, price_table_ids)
  select asks[k].account_id, asks[k].request_id, case when (replies[k] ->> 'late')::boolean then 'late_charge' else 'settlement' end,
    asks[k].body -> 'amounts', nullif(replies[k] -> 'overage', '{}'), replies[k] ->> 'outcome', asks[k].body ->> 'provider_request_id',
    at, asks[k].actor, asks[k].body ->> 'reason', asks[k].body -> 'usage', asks[k].body -> 'priced' -> 'cost',
    case when asks[k].body -> 'priced' ? 'price_table_ids'
      then array(select i.id::bigint from jsonb_array_elements_text(asks[k].body -> 'priced' -> 'price_table_ids') as i (id)) end
  from generate_subscripts(asks, 1) as k;
  update preauth.reservation as x
  set state = 'settled', closure = replies[k]
  from generate_subscripts(asks, 1) as k
  cross join lateral (
    select r.ctid from preauth.reservation as r
    where r.request_id = asks[k].request_id and r.account_id = asks[k].account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where x.ctid = place.ctid;
  return answers;
end
$$;
comment on function preauth._write_settlements(preauth._ask[], preauth._closed[], timestamptz) is
  'Appends the usage event of each settlement, keeps its reply for replays, and answers.';
