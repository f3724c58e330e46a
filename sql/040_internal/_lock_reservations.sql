create function preauth._lock_reservations(
  inout asks preauth._ask[], out held preauth.reservation[], out at timestamptz, out refused preauth._answer[])
language plpgsql
as $$
declare
  wanted preauth._ask[] := asks;
  found preauth.reservation[];
begin
  perform from preauth.reservation as x
  join (select distinct a.request_id, a.account_id from unnest(wanted) as a) as k on k.request_id = x.request_id and k.account_id = x.account_id
  order by x.request_id, x.account_id
  for no key update of x;
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
