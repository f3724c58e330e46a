create function preauth._release(asks preauth._ask[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
declare
  closed preauth._closed[];
  replies preauth._answer[];
begin
  if cardinality(asks) = 0 then
    return;
  end if;
  closed := array(select c from preauth._close_lines(array(
    select row(l.request_id, l.account_id, l.position, 'released', null)::preauth._closing
    from unnest(asks) as a
    join preauth.hold_line as l on l.request_id = a.request_id and l.account_id = a.account_id
    where l.state = 'held'
    order by a.n, l.position), at) as c);
  replies := array(select preauth._release_answer(a, array(
      select c from unnest(closed) as c where c.request_id = a.request_id and c.account_id = a.account_id order by c.position), at)
    from unnest(asks) as a order by a.n);
  update preauth.reservation as r
  set state = 'released', closure = x.body::jsonb
  from unnest(asks) as a
  join unnest(replies) as x on x.n = a.n
  where r.request_id = a.request_id and r.account_id = a.account_id;
  perform preauth._note(a, 'released', jsonb_build_object('reason', a.body -> 'reason'), at) from unnest(asks) as a;
  return query select * from unnest(replies);
end
$$;
comment on function preauth._release(preauth._ask[], timestamptz) is 'Gives back what locked reservations hold: lines and windows, events, states, replies.';
