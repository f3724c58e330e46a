create function preauth._write_settlements(asks preauth._ask[], replies preauth._answer[], at timestamptz) returns void
language plpgsql
as $$
begin
  insert into preauth.usage_event
    (account_id, request_id, kind, amounts, overage, outcome, provider_request_id, occurred_at, actor, reason)
  select a.account_id, a.request_id, case when (p.reply ->> 'late')::boolean then 'late_charge' else 'settlement' end,
    a.body -> 'amounts', nullif(p.reply -> 'overage', '{}'), p.reply ->> 'outcome', a.body ->> 'provider_request_id', at, a.actor, a.body ->> 'reason'
  from unnest(asks) as a
  cross join lateral (select x.body::jsonb from unnest(replies) as x where x.n = a.n) as p (reply)
  order by a.n;
  update preauth.reservation as r
  set state = 'settled', closure = x.body::jsonb
  from unnest(asks) as a
  join unnest(replies) as x on x.n = a.n
  where r.request_id = a.request_id and r.account_id = a.account_id;
end
$$;
comment on function preauth._write_settlements(preauth._ask[], preauth._answer[], timestamptz) is 'Appends the usage event of each settlement and keeps its reply for replays.';
