create function preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
begin
  return query
    with replies as materialized (
      select a, s.reply
      from preauth._settlement_replies(asks, closed, at) as s
      join unnest(asks) as a on a.n = s.n
    ), events as (
      insert into preauth.usage_event
        (account_id, request_id, kind, amounts, overage, outcome, provider_request_id, occurred_at, actor, reason)
      select (r.a).account_id, (r.a).request_id, case when (r.reply ->> 'late')::boolean then 'late_charge' else 'settlement' end,
        (r.a).body -> 'amounts', nullif(r.reply -> 'overage', '{}'), r.reply ->> 'outcome', (r.a).body ->> 'provider_request_id',
        at, (r.a).actor, (r.a).body ->> 'reason'
      from replies as r
      order by (r.a).n
    ), states as (
      update preauth.reservation as x
      set state = 'settled', closure = r.reply
      from replies as r
      where x.request_id = (r.a).request_id and x.account_id = (r.a).account_id
    )
    select (r.a).n, 200, null::json, r.reply::json, null::text from replies as r;
end
$$;
comment on function preauth._write_settlements(preauth._ask[], preauth._closed[], timestamptz) is
  'Appends the usage event of each settlement, keeps its reply for replays, and answers.';
