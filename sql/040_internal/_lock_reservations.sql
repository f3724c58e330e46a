create function preauth._lock_reservations(
  inout asks preauth._ask[], out held preauth.reservation[], out places tid[], out are_open boolean, out at timestamptz, out refused preauth._answer[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted preauth._ask[] := asks;
  known integer := 0;
  first_due timestamptz;
begin
  select array_agg(l.r order by k.n), array_agg(l.place order by k.n), bool_and(l.is_open), min(l.expires_at) into held, places, are_open, first_due
  from (select a.request_id, a.account_id, a.n from unnest(wanted) as a order by a.request_id, a.account_id) as k
  cross join lateral (
    select x as r, x.ctid as place, x.state in ('authorized', 'cancellation_requested') as is_open, x.expires_at
    from preauth.reservation as x
    where x.request_id = k.request_id and x.account_id = k.account_id
    offset 0  -- one look-up by key for each, in their order
    for no key update
  ) as l;
  at := preauth._now();
  are_open := coalesce(are_open and first_due > at, false);
  refused := '{}';
  if cardinality(held) = cardinality(asks) then
    return;
  end if;
  asks := '{}';
  held := coalesce(held, '{}');
  are_open := false;
  for k in 1 .. cardinality(wanted) loop
    if held[known + 1].request_id = wanted[k].request_id and held[known + 1].account_id = wanted[k].account_id then
      asks := asks || wanted[k];
      known := known + 1;
    else
      refused := refused || preauth._problem_answer(wanted[k].n, preauth._lifecycle_refusal(wanted[k], 'reservation_unknown'));
    end if;
  end loop;
end
$$;
comment on function preauth._lock_reservations(preauth._ask[]) is
  'Locks the reservations of a batch, in the order of keys. held, places: each ask''s, as it is stored and where; are_open: whether all of them hold, and their time has not passed; at: the instant they were locked; refused: the answers to asks that have none.';
