-- Most have one event after the decision, or none: what more there are is put in order afterwards.
create function preauth._timeline(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  steps jsonb[] := array[jsonb_build_object(
    'at', preauth._time(r.created_at), 'event', case when r.denial is null then 'authorized' else 'denied' end, 'actor', r.actor, 'detail', null)];
  placed jsonb[] := array[]::jsonb[];
  e record;
begin
  for e in
    select 1 as source, x.event_id, x.occurred_at, x.event, x.actor, x.detail
    from preauth.reservation_event as x where x.request_id = r.request_id and x.account_id = r.account_id
    union all
    select 2, x.event_id, x.occurred_at, x.kind, x.actor,
      jsonb_strip_nulls(jsonb_build_object('amounts', x.amounts, 'overage', x.overage, 'outcome', x.outcome, 'provider_request_id', x.provider_request_id, 'reason', x.reason))
    from preauth.usage_event as x where x.request_id = r.request_id and x.account_id = r.account_id and x.window_id is null
  loop
    placed := placed || jsonb_build_array(preauth._time(e.occurred_at), e.source, e.event_id, e.event, e.actor, e.detail);
  end loop;
  if cardinality(placed) > 1 then
    placed := array(select p from unnest(placed) as p order by p);
  end if;
  for n in 1 .. cardinality(placed) loop
    steps := steps || jsonb_build_object('at', placed[n] -> 0, 'event', placed[n] -> 3, 'actor', placed[n] -> 4, 'detail', placed[n] -> 5);
  end loop;
  return to_jsonb(steps);
end
$$;
comment on function preauth._timeline(preauth.reservation) is 'Everything that happened to a reservation, in order: the decision, transitions, spend.';
