create function preauth._resolve_round(asks preauth._ask[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
declare
  states jsonb[] := array(
    select jsonb_build_object('state', preauth._state_at(r, at))
    from unnest(asks) as a left join preauth.reservation as r on r.request_id = a.request_id and r.account_id = a.account_id
    order by a.n);
  answers preauth._answer[] := array(
    select s from preauth._settle_round(array(select a from unnest(asks) as a where a.body ->> 'action' <> 'release'), at) as s
    union all
    select r from preauth._release_round(array(select a from unnest(asks) as a where a.body ->> 'action' = 'release'), at) as r);
begin
  perform preauth._log_change(a.actor, 'reservation', a.account_id || '/' || a.request_id, a.before,
    jsonb_strip_nulls(jsonb_build_object('state', r.body ->> 'state', 'action', a.body -> 'action', 'amounts', r.body::jsonb -> 'amounts')), a.body ->> 'reason')
  from (
    select k.*, states[row_number() over (order by k.n)] as before from unnest(asks) as k
  ) as a
  join unnest(answers) as r on r.n = a.n
  where r.status = 200 and not (r.body ->> 'replayed')::boolean;
  return query select r.* from unnest(answers) as r;
end
$$;
comment on function preauth._resolve_round(preauth._ask[], timestamptz) is 'Ends reservations as a person decided, each with an entry in the change log: one call each on locked reservations that are all different.';
