create function preauth._lock_reservations(
  inout asks preauth._ask[], out held preauth.reservation[], out at timestamptz, out refused preauth._answer[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted preauth._ask[] := asks;
  found preauth.reservation[];
begin
  perform from (select distinct a.request_id, a.account_id from unnest(wanted) as a order by a.request_id, a.account_id) as k
  cross join lateral (
    select from preauth.reservation as x where x.request_id = k.request_id and x.account_id = k.account_id
    offset 0  -- one look-up by key for each, in their order
    for no key update
  ) as locked;
  at := preauth._now();
  found := preauth._held(wanted);
  asks := '{}';
  held := '{}';
  refused := '{}';
  for k in 1 .. cardinality(wanted) loop
    if found[k].request_id is null then
      refused := refused || preauth._problem_answer(wanted[k].n, preauth._lifecycle_refusal(wanted[k], 'reservation_unknown'));
    else
      asks := asks || wanted[k];
      held := held || found[k];
    end if;
  end loop;
end
$$;
comment on function preauth._lock_reservations(preauth._ask[]) is
  'Locks the reservations of a batch, in the order of keys. held: each ask''s; at: the instant they were locked; refused: the answers to asks that have none.';
